//! Programs that are run: streamed to the terminal, or captured with a time limit.

use std::{
    env,
    io::{self, BufRead, BufReader, Read},
    mem,
    os::unix::process::CommandExt,
    process::{Child, Command, Stdio},
    sync::{
        atomic::{AtomicBool, Ordering},
        mpsc::{self, RecvTimeoutError},
    },
    thread,
    time::{Duration, Instant},
};

use crate::{Failure, Outcome, folders};

/// `cargo`, the one that runs this program, at the root.
pub(crate) fn cargo(arguments: &[&str]) -> Command {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(arguments).current_dir(folders::root());
    command
}

/// A program at the root.
pub(crate) fn program(name: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(name);
    command.args(arguments).current_dir(folders::root());
    command
}

/// The command as it would be typed.
pub(crate) fn command_line(command: &Command) -> String {
    let variables = command.get_envs().filter_map(|(name, value)| {
        Some(format!("{}={}", name.display(), quote(&value?.to_string_lossy())))
    });
    let program = command.get_program().to_string_lossy();
    let name = program.rsplit('/').next().unwrap_or(&program).to_owned();
    let arguments = command.get_args().map(|argument| quote(&argument.to_string_lossy()));
    variables.chain([name]).chain(arguments).collect::<Vec<_>>().join(" ")
}

fn quote(word: &str) -> String {
    if word.contains([' ', '\'', '"']) { format!("'{word}'") } else { word.to_owned() }
}

/// Runs a command and passes each line of its standard output through `line` before it is printed.
///
/// # Errors
///
/// The command cannot be started, or fails.
pub(crate) fn stream(command: &mut Command, mut line: impl FnMut(&str)) -> Outcome {
    let text = command_line(command);
    println!("$ {text}");
    let mut child = start(command.stdout(Stdio::piped()), &text)?;
    let stdout = child.stdout.take();
    follow(&mut child, &text, stdout, |text| {
        print!("{text}");
        line(text.trim_end());
    })
}

/// The same beside other commands: the output of each test binary, errors included, is printed once it
/// is complete.
///
/// # Errors
///
/// The command cannot be started, or fails.
pub(crate) fn stream_in_parts(command: &mut Command, mut line: impl FnMut(&str)) -> Outcome {
    let text = command_line(command);
    println!("$ {text}");
    let cannot = |error| Failure::new(format!("cannot start `{text}`: {error}"));
    let (output, both) = io::pipe().map_err(cannot)?;
    command.stdout(both.try_clone().map_err(cannot)?).stderr(both);
    let child = start(command, &text);
    // The output ends once nothing can write to it, so `command` must not keep the pipe.
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut part = String::new();
    let outcome = follow(&mut child?, &text, Some(output), |text| {
        line(text.trim_end());
        part.push_str(text);
        if text.starts_with("test result: ") {
            println!("{}", mem::take(&mut part));
        }
    });
    println!("{part}");
    outcome
}

/// Passes on what a command prints, line by line, until it ends.
fn follow(
    child: &mut Child,
    text: &str,
    output: Option<impl Read + Send + 'static>,
    mut line: impl FnMut(&str),
) -> Outcome {
    let (sender, lines) = mpsc::channel();
    if let Some(output) = output {
        thread::spawn(move || send_lines(output, &sender));
    }
    loop {
        match lines.recv_timeout(Duration::from_millis(500)) {
            // Lines are bytes: a test may print invalid UTF-8.
            Ok(bytes) => line(&String::from_utf8_lossy(&bytes)),
            Err(RecvTimeoutError::Disconnected) => break,
            // A process that it left behind may keep its output open for ever.
            Err(RecvTimeoutError::Timeout) if matches!(child.try_wait(), Ok(Some(_))) => {
                println!("a process that `{text}` started is still running");
                break;
            }
            Err(RecvTimeoutError::Timeout) => (),
        }
    }
    match child.wait() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(Failure::new(format!("`{text}` ended with {status}"))),
        Err(error) => Err(Failure::new(format!("cannot wait for `{text}`: {error}"))),
    }
}

/// Sends line by line, until the output ends or the receiver is gone.
fn send_lines(output: impl Read, lines: &mpsc::Sender<Vec<u8>>) {
    let mut reader = BufReader::new(output);
    let mut bytes = Vec::new();
    while reader.read_until(b'\n', &mut bytes).is_ok_and(|len| len > 0) {
        if lines.send(mem::take(&mut bytes)).is_err() {
            return;
        }
    }
}

/// Runs a command whose output goes to the terminal.
pub(crate) fn run(command: &mut Command) -> Outcome {
    stream(command, |_| ())
}

/// Whether a program exists and succeeds.
pub(crate) fn answers(command: &mut Command) -> bool {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// The result of a captured command.
pub(crate) struct Captured {
    /// `None` if its time was over and it was killed.
    pub(crate) success: Option<bool>,
    /// Both streams, line by line in order of arrival.
    pub(crate) output: String,
    pub(crate) took: Duration,
}

/// Runs a command for at most `limit`, or up to the first line of standard output that is enough,
/// and returns its output. A command that is ended early counts as failed.
///
/// # Errors
///
/// The command cannot be started.
pub(crate) fn capture(
    command: &mut Command,
    limit: Duration,
    is_enough: fn(&str) -> bool,
) -> Outcome<Captured> {
    let text = command_line(command);
    let began = Instant::now();
    // In its own process group, so that programs it starts can be ended with it.
    let command = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = start(command.process_group(0), &text)?;
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let enough = AtomicBool::new(false);
    let look = |line: &str| {
        enough.fetch_or(is_enough(line), Ordering::Relaxed);
    };
    thread::scope(|scope| {
        let stdout = scope.spawn(|| drain(stdout, look));
        let stderr = scope.spawn(|| drain(stderr, |_| ()));
        let success = wait(&mut child, began + limit, &enough);
        let output = [stderr, stdout].map(|thread| thread.join().unwrap_or_default()).concat();
        Ok(Captured { success, output, took: began.elapsed() })
    })
}

fn start(command: &mut Command, text: &str) -> Outcome<Child> {
    command.spawn().map_err(|error| Failure::new(format!("cannot start `{text}`: {error}")))
}

/// Reads a whole stream, and passes its lines on as they arrive.
fn drain(stream: Option<impl Read>, mut look: impl FnMut(&str)) -> String {
    let (mut text, mut bytes) = (String::new(), Vec::new());
    let Some(mut reader) = stream.map(BufReader::new) else { return text };
    while reader.read_until(b'\n', &mut bytes).is_ok_and(|len| len > 0) {
        let line = String::from_utf8_lossy(&bytes);
        look(line.trim_end());
        text.push_str(&line);
        bytes.clear();
    }
    text
}

/// Waits for the leader of a group, and ends what is left of the group.
fn wait(child: &mut Child, until: Instant, enough: &AtomicBool) -> Option<bool> {
    let success = loop {
        match child.try_wait() {
            Ok(Some(status)) => break Some(status.success()),
            Ok(None) if enough.load(Ordering::Relaxed) => break Some(false),
            Ok(None) if Instant::now() < until => thread::sleep(Duration::from_millis(20)),
            Ok(None) | Err(_) => break None,
        }
    };
    let group = format!("-{}", child.id());
    answers(Command::new("kill").args(["-KILL", "--", &group]));
    let _ended = child.wait();
    success
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_printed_as_typed_in_a_shell() {
        let mut command = program("/usr/bin/env", &["a b", "c"]);
        command.env("X", "1 2");
        assert_eq!(command_line(&command), "X='1 2' env 'a b' c");
    }

    #[test]
    fn a_command_past_its_limit_is_ended_with_its_children() {
        let mut command = program("sh", &["-c", "echo begun; sleep 60 & sleep 60"]);
        let captured = capture(&mut command, Duration::from_millis(300), |_| false).unwrap();
        assert_eq!(captured.success, None);
        assert_eq!(captured.output, "begun\n");
        assert!(captured.took < Duration::from_secs(30));
    }

    #[test]
    fn a_command_is_ended_when_a_line_is_enough() {
        let mut command = program("sh", &["-c", "echo one; echo two; sleep 60"]);
        let captured =
            capture(&mut command, Duration::from_secs(60), |line| line == "two").unwrap();
        assert_eq!((captured.success, &*captured.output), (Some(false), "one\ntwo\n"));
        assert!(captured.took < Duration::from_secs(30));
    }

    #[test]
    fn processes_left_by_a_command_are_not_awaited() {
        let began = Instant::now();
        let mut lines = Vec::new();
        let mut leaves = program("sh", &["-c", "sleep 60 & echo left; exit 3"]);
        let failure = stream(&mut leaves, |line| lines.push(line.to_owned())).unwrap_err();
        assert!(failure.to_string().ends_with("exit status: 3"), "{failure}");
        assert_eq!(lines, ["left"]);
        let captured = capture(&mut leaves, Duration::from_secs(60), |_| false).unwrap();
        assert_eq!((captured.success, &*captured.output), (Some(false), "left\n"));
        assert!(began.elapsed() < Duration::from_secs(30));
    }

    #[test]
    fn a_failed_command_is_a_failure_that_names_it() {
        let failure = run(&mut program("false", &[])).unwrap_err();
        assert_eq!(failure.to_string(), "`false` ended with exit status: 1");
    }
}
