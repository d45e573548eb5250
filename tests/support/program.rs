//! Servers by others, each with its own configuration, folder and address, stopped when they are
//! dropped.

use std::{
    env, fs,
    net::SocketAddr,
    path::PathBuf,
    process::{Child, Command, Stdio},
};

use tokio::net::TcpStream;

use super::{http::until, port::Port};

#[derive(Debug)]
pub struct Program {
    process: Child,
    pub folder: PathBuf,
    pub address: SocketAddr,
    _port: Port,
}

impl Program {
    /// Starts nginx with this inside of `http`, in a single process: workers would outlive it.
    pub async fn nginx(http: &str) -> Self {
        let configuration = format!(
            "daemon off; master_process off; pid FOLDER/pid; error_log FOLDER/errors;
             events {{ worker_connections 64; }}
             http {{
                 access_log off;
                 client_body_temp_path FOLDER/body; proxy_temp_path FOLDER/proxy;
                 fastcgi_temp_path FOLDER/fastcgi; uwsgi_temp_path FOLDER/uwsgi;
                 scgi_temp_path FOLDER/scgi;
                 {http}
             }}"
        );
        Self::start("nginx", &["-c", "FILE"], &configuration).await
    }

    pub async fn haproxy(configuration: &str) -> Self {
        Self::start("haproxy", &["-f", "FILE"], configuration).await
    }

    /// Starts Prometheus, which keeps what it reads for as long as it runs.
    pub async fn prometheus(configuration: &str) -> Self {
        let arguments = [
            "--config.file=FILE",
            "--storage.tsdb.path=FOLDER/data",
            "--web.listen-address=ADDRESS",
            "--log.level=error",
        ];
        Self::start("prometheus", &arguments, configuration).await
    }

    /// Starts a program and waits until it listens. In its arguments and its configuration, `ADDRESS`
    /// stands for its address, `FOLDER` for its folder and `FILE` for its configuration.
    async fn start(program: &str, arguments: &[&str], configuration: &str) -> Self {
        let port = Port::reserve();
        let address = port.address;
        let folder = env::temp_dir().join(format!("policy-{program}-{}", address.port()));
        // Left over from an earlier run.
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir(&folder).expect("a folder");
        let file = folder.join("configuration");
        let placed = |text: &str| {
            text.replace("ADDRESS", &address.to_string())
                .replace("FOLDER", &folder.to_string_lossy())
                .replace("FILE", &file.to_string_lossy())
        };
        fs::write(&file, placed(configuration)).expect("a file");
        let mut command = Command::new(program);
        command.args(arguments.iter().map(|argument| placed(argument)));
        let process = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn();
        let process = process.unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let started = Self { process, folder, address, _port: port };
        until(async || TcpStream::connect(address).await.is_ok()).await;
        started
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // It may have exited already.
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}
