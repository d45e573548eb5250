//! The parts of the cluster: processes that can be killed, paused and started again.

use std::{
    env, io,
    net::SocketAddr,
    sync::Arc,
    time::{Duration, Instant},
};

use tokio::{sync::Mutex, time::sleep};

use crate::{
    client,
    instance::{INSTANCE, LISTEN, OPERATOR, READINESS, SESSION_STORE},
    process::{Folder, Launch, Port, Process},
    store::{Kind, Server},
};

/// How long a part may take to start.
const PATIENCE: Duration = Duration::from_secs(60);

/// The names of the instances.
pub(crate) const NAMES: [&str; 3] = ["one", "two", "three"];

/// Three instances, and their store.
#[derive(Debug)]
pub(crate) struct Cluster {
    instances: [Instance; 3],
    store: Store,
}

#[derive(Debug)]
struct Instance {
    name: &'static str,
    port: Port,
    folder: Arc<Folder>,
    part: Mutex<Part>,
}

#[derive(Debug)]
enum Store {
    Ours(Box<Ours>),
    Elsewhere(String),
}

#[derive(Debug)]
struct Ours {
    server: Server,
    part: Mutex<Part>,
}

/// A process, and what was done to it.
#[derive(Debug, Default)]
struct Part {
    process: Option<Process>,
    is_paused: bool,
    launch: Option<Launch>,
}

/// An action on a part.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Action {
    /// As a crash of its machine does.
    Kill,
    Start,
    /// Asks it to end, as a new release does, and starts it again.
    Restart,
    /// It accepts connections, and does nothing more.
    Pause,
    Resume,
}

impl Action {
    pub(crate) fn parse(word: &str) -> Option<Self> {
        Some(match word {
            "kill" => Self::Kill,
            "start" => Self::Start,
            "restart" => Self::Restart,
            "pause" => Self::Pause,
            "resume" => Self::Resume,
            _ => return None,
        })
    }
}

impl Cluster {
    /// Prepares everything, and starts nothing.
    pub(crate) fn prepare(kind: Kind) -> io::Result<Self> {
        let ours = |server| Store::Ours(Box::new(Ours { server, part: Mutex::default() }));
        let store = match kind {
            Kind::Postgres => ours(Server::postgres()?),
            Kind::Redis => ours(Server::redis()?),
            Kind::Elsewhere(url) => Store::Elsewhere(url),
        };
        let instance = |name| {
            let port = Port::reserve()?;
            let folder = Folder::new(&port, None)?;
            io::Result::Ok(Instance { name, port, folder, part: Mutex::default() })
        };
        let [one, two, three] = NAMES;
        Ok(Self { instances: [instance(one)?, instance(two)?, instance(three)?], store })
    }

    /// Starts everything, and waits until it is ready.
    pub(crate) async fn start(&self, operator: &str) -> io::Result<()> {
        if let Store::Ours(..) = self.store {
            self.act("store", Action::Start).await?;
        }
        for instance in &self.instances {
            instance.part.lock().await.launch = Some(self.launch(instance, operator)?);
            self.act(instance.name, Action::Start).await?;
        }
        Ok(())
    }

    fn launch(&self, instance: &Instance, operator: &str) -> io::Result<Launch> {
        let url = match &self.store {
            Store::Ours(ours) => &ours.server.url,
            Store::Elsewhere(url) => url,
        };
        Ok(Launch {
            program: env::current_exe()?,
            arguments: vec!["instance".to_owned()],
            environment: vec![
                (SESSION_STORE, url.clone()),
                (LISTEN, instance.port.address.to_string()),
                (INSTANCE, instance.name.to_owned()),
                (OPERATOR, operator.to_owned()),
            ],
            folder: Arc::clone(&instance.folder),
            last_signal: "KILL",
            user: None,
        })
    }

    /// The addresses of the instances.
    pub(crate) fn addresses(&self) -> [SocketAddr; 3] {
        self.instances.each_ref().map(|instance| instance.port.address)
    }

    /// The store, for people: without the password of a URL.
    pub(crate) fn store_name(&self) -> String {
        match &self.store {
            Store::Ours(ours) => {
                format!("{} of our own", ours.server.url.split(':').next().unwrap_or_default())
            }
            Store::Elsewhere(url) => {
                let (scheme, rest) = url.split_once("://").unwrap_or_default();
                let host = rest.rsplit('@').next().unwrap_or_default();
                format!("{scheme} at {}", host.split(['/', '?']).next().unwrap_or_default())
            }
        }
    }

    /// Whether the store is a process of ours.
    pub(crate) fn has_own_store(&self) -> bool {
        matches!(self.store, Store::Ours(..))
    }

    /// What was done to a part: `running`, `paused` or `gone`; `elsewhere` for a store that is not
    /// ours.
    pub(crate) async fn condition(&self, name: &str) -> &'static str {
        let Some(part) = self.part(name) else { return "elsewhere" };
        let part = part.lock().await;
        match part.process {
            None => "gone",
            Some(_) if part.is_paused => "paused",
            Some(_) => "running",
        }
    }

    fn instance(&self, name: &str) -> Option<&Instance> {
        self.instances.iter().find(|instance| instance.name == name)
    }

    fn part(&self, name: &str) -> Option<&Mutex<Part>> {
        match &self.store {
            Store::Ours(ours) if name == "store" => Some(&ours.part),
            _ => Some(&self.instance(name)?.part),
        }
    }

    /// Does something to a part. After a start it is ready.
    pub(crate) async fn act(&self, name: &str, action: Action) -> io::Result<()> {
        let Some(part) = self.part(name) else {
            return Err(io::Error::other(format!("`{name}` is no part that runs here")));
        };
        let mut part = part.lock().await;
        match (action, part.process.take()) {
            (Action::Kill, Some(process)) => process.kill()?,
            (Action::Restart, Some(process)) => {
                // Its requests in flight complete meanwhile.
                tokio::task::spawn_blocking(|| process.stop()).await??;
                self.begin(name, &mut part).await?;
            }
            (Action::Pause, Some(process)) => {
                process.signal("STOP")?;
                part.process = Some(process);
                part.is_paused = true;
            }
            (Action::Resume, Some(process)) => {
                process.signal("CONT")?;
                part.process = Some(process);
                part.is_paused = false;
            }
            (Action::Start | Action::Restart, None) => self.begin(name, &mut part).await?,
            // It is in this state already.
            (_, process) => part.process = process,
        }
        Ok(())
    }

    async fn begin(&self, name: &str, part: &mut Part) -> io::Result<()> {
        let server = match &self.store {
            Store::Ours(ours) if name == "store" => Some(&ours.server),
            _ => None,
        };
        let launch = server.map(|server| &server.launch).or(part.launch.as_ref());
        let Some(launch) = launch else {
            return Err(io::Error::other(format!("`{name}` was never started")));
        };
        let end = Instant::now() + PATIENCE;
        loop {
            let process = launch.start()?;
            // PostgreSQL does not start while the memory of a killed server is still in use.
            let again = (Instant::now() + PATIENCE / 6).min(end);
            while Instant::now() < again {
                let is_ready = match (server, self.instance(name)) {
                    (Some(server), _) => server.is_ready().await,
                    (_, Some(instance)) => {
                        client::get(instance.port.address, READINESS).await == Some(200)
                    }
                    _ => false,
                };
                if is_ready {
                    (part.process, part.is_paused) = (Some(process), false);
                    return Ok(());
                }
                sleep(Duration::from_millis(20)).await;
            }
            process.kill()?;
            if Instant::now() >= end {
                let log = launch.log();
                return Err(io::Error::other(format!("`{name}` did not start: {log}")));
            }
        }
    }
}
