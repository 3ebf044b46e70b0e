//! What things cost: decisions, the layers, a request over sockets. `benches/README.md` has the commands and the figures.
//!
//! One program, since each is built as a whole (fat LTO), and that takes minutes. It is its own child, too: for callgrind,
//! for memcheck, and as the far side of the sockets.

mod decisions;
mod measure;
mod request_path;
mod stack;

use measure::Table;
use std::process::ExitCode;

/// In the order in which they are printed.
const TABLES: [Table; 3] = [decisions::TABLE, stack::TABLE, request_path::TABLE];

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let texts: Vec<&str> = args.iter().map(String::as_str).collect();
    let table = |name: &str| TABLES.iter().find(|table| table.name == name);
    let number = |text: &str| text.parse().expect("a number");
    match texts[..] {
        ["--rounds", name, case, rounds] => {
            measure::repeat_case(
                table(name).expect("a table"),
                number(case),
                number(rounds).try_into().expect("u64"),
            );
            return ExitCode::SUCCESS;
        }
        ["--far", exits] => return ExitCode::from(u8::from(request_path::far(number(exits)).is_err())),
        ["--hold", what, many] => request_path::hold(number(what), number(many)),
        _ => {}
    }
    let gate = texts.contains(&"--gate");
    let asked: Vec<_> = texts.iter().filter_map(|name| table(name)).collect();
    let asked = if asked.is_empty() { TABLES.iter().collect() } else { asked };
    let kept = asked.into_iter().map(|table| measure::run(table, gate)).collect::<Vec<_>>();
    ExitCode::from(u8::from(gate && kept.contains(&false)))
}
