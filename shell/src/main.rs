//! The `giveover` command.
fn main() -> std::process::ExitCode {
    let args: Vec<String> = std::env::args().collect();
    let code = match args.get(1).map(String::as_str) {
        Some("run") if args.get(2).map(String::as_str) == Some("--demo") => {
            giveover::daemon::demo::run(giveover::report::paint::Paint::default())
        }
        Some("run") => giveover::daemon::run(&giveover::daemon::Options {
            file: Some(args[2].clone().into()),
            state: Some(args[3].clone().into()),
            socket: args[4].clone().into(),
            ..Default::default()
        }),
        Some("demo-service") => {
            let port = args[2].parse().unwrap();
            giveover::daemon::demo::service::main(port, args[3].as_ref()).map_or(1, |()| 0)
        }
        Some("demo-takeover") => 0,
        _ => 2,
    };
    code.into()
}
