//! `cargo xtask firmware`: the image of a board, its sizes, and whether it keeps its bounds.

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use crate::board::{self, BOARDS, Board, Variant};
use crate::flash;
use crate::image::Image;
use crate::needs;
use crate::stack;
use crate::suggest;
use crate::thumb::Toolchain;
use crate::workspace::{self, show};

const HELP: &str = "\
cargo xtask firmware --board NAME [--shadow | --log] [--debian] [--stack]

Builds the image of a board and prints what it takes of flash, RAM and stack, in bytes, and where the
image is; for rp-pico also the UF2 file made of it. Fails where that is more than it may be, and where a panic is left that could be reached.
  --board NAME   which (see below)
  --shadow       with the shadows of the host's monitors, for `shadow = true`
  --log          with each note as a line of log (defmt), on a UART of its own
  --debian       build with Debian's compiler, even if ours has the targets
  --stack        print the chain of calls that takes most of the stack

Boards:
";

/// The verb.
pub(crate) fn run(args: &[String]) -> ExitCode {
    let mut words = args.iter().map(String::as_str);
    let (mut chosen, mut debian, mut chain) = (None, false, false);
    let mut variant = Variant::Plain;
    while let Some(word) = words.next() {
        match word {
            "-h" | "--help" => {
                let names = BOARDS.iter().map(|board| format!("  {}\n", board.name));
                show(&(HELP.to_string() + &names.collect::<String>()));
                return ExitCode::SUCCESS;
            }
            "--board" => match words.next().map(|name| (name, board::named(name))) {
                Some((_, Some(board))) => chosen = Some(board),
                Some((name, None)) => return unknown(name),
                None => return unknown(""),
            },
            "--shadow" => variant = Variant::Shadow,
            "--log" => variant = Variant::Log,
            "--debian" => debian = true,
            "--stack" => chain = true,
            other => {
                let known = ["--board", "--shadow", "--log", "--debian", "--stack"];
                return suggest::usage("option", other, known.into_iter());
            }
        }
    }
    let Some(board) = chosen else { return unknown("") };
    if Variant::of(board).all(|of| of != variant) {
        eprintln!("xtask: {} has no UART beside the link: no log", board.name);
        return ExitCode::FAILURE;
    }
    let done = toolchain(debian).and_then(|toolchain| {
        let report = Report::build(toolchain, board, variant)?;
        show(&format!("\n{}\n{}", toolchain.describe(), Report::HEAD));
        show(&report.line());
        if chain {
            show(&report.chain());
        }
        if board.real.as_ref().is_some_and(|real| real.uf2) {
            show(&format!("{}\n", workspace::relative(&flash::made_uf2(&report.path)?)));
        }
        show(&format!("{}\n", workspace::relative(&report.path)));
        report.judge()
    });
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Says which boards there are.
pub(crate) fn unknown(name: &str) -> ExitCode {
    suggest::usage("board", name, BOARDS.iter().map(|board| board.name))
}

/// The compiler to build with.
pub(crate) fn toolchain(debian: bool) -> Result<Toolchain, String> {
    if debian {
        needs::install(needs::For::Board)?;
        Toolchain::debian()
    } else {
        needs::board_targets()?;
        Toolchain::find()
    }
}

/// What an image takes.
pub(crate) struct Report {
    board: &'static Board,
    variant: Variant,
    pub(crate) path: PathBuf,
    flash: u32,
    ram: u32,
    stack: stack::Bound,
}

impl Report {
    pub(crate) const HEAD: &str =
        "BOARD                  FLASH     L11   LIMIT     RAM   LIMIT   STACK   LIMIT\n";

    /// Builds an image and measures it.
    ///
    /// # Errors
    /// It does not build, which it does not where a panic is left; or it cannot be read.
    pub(crate) fn build(
        toolchain: Toolchain,
        board: &'static Board,
        variant: Variant,
    ) -> Result<Self, String> {
        let path = toolchain.image(board, variant).map_err(|why| {
            format!("{why}\n(`giveover_a_panic_is_reachable` undefined means what it says)")
        })?;
        let bytes = fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        let image = Image::read(&bytes).map_err(|why| format!("{}: {why}", path.display()))?;
        let stack = stack::bound(&image).map_err(|why| format!("no stack bound: {why}"))?;
        let sizes = image.sizes;
        let (flash, ram) = (sizes.text + sizes.data, sizes.data + sizes.bss);
        Ok(Self { board, variant, path, flash, ram, stack })
    }

    /// A line of the table.
    pub(crate) fn line(&self) -> String {
        let name = self.variant.name(self.board);
        let (flash, ram, stack) = (self.flash, self.ram, self.stack.bytes);
        let (granted, ram_limit, most) = self.variant.granted(self.board);
        let wanted = board::FLASH;
        format!(
            "{name:<20}{flash:>8}{wanted:>8}{granted:>8}{ram:>8}{ram_limit:>8}{stack:>8}{most:>8}\n"
        )
    }

    fn chain(&self) -> String {
        let lines = self.stack.chain.iter().map(|(name, bytes)| format!("{bytes:>8}  {name}\n"));
        lines.collect()
    }

    /// Whether all bounds are kept.
    ///
    /// # Errors
    /// Which are not.
    pub(crate) fn judge(&self) -> Result<(), String> {
        let (flash, ram, stack) = self.variant.granted(self.board);
        let kept = [
            ("flash", self.flash, flash),
            ("static RAM", self.ram, ram),
            ("stack", self.stack.bytes, stack),
        ];
        let over = kept.iter().filter(|(_, is, most)| is > most);
        let over: Vec<String> =
            over.map(|(what, is, most)| format!("{what} {is} of {most}")).collect();
        if over.is_empty() {
            return Ok(());
        }
        let name = self.variant.name(self.board);
        Err(format!("{name} takes more than it may: {}", over.join(", ")))
    }
}
