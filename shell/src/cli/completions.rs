//! `giveover completions`

use clap::{Args, ValueEnum};

use super::exit::{Exit, Stop};
use super::session::Session;

/// Print completions for a shell
#[derive(Debug, Args)]
#[command(
    after_help = "Of verbs and options, and of service names as the daemon has them: `giveover \
                  completions bash > /usr/share/bash-completion/completions/giveover`."
)]
pub(super) struct Completions {
    /// The shell
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

/// Shells we have completions for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Shell {
    Bash,
    Zsh,
    Fish,
}

/// The verbs whose arguments are services.
const OF_SERVICES: &str = "status explain history events wait probe start stop restart hold release clear giveover give \
     monitor notify";

pub(super) fn run(verb: &Completions, session: &mut Session<'_>) -> Result<Exit, Stop> {
    let shell = match verb.shell {
        Shell::Bash => clap_complete::Shell::Bash,
        Shell::Zsh => clap_complete::Shell::Zsh,
        Shell::Fish => clap_complete::Shell::Fish,
    };
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut super::command(), "giveover", &mut script);
    let mut text = String::from_utf8_lossy(&script).into_owned();
    text += &match verb.shell {
        Shell::Bash => BASH.replace("VERBS", &OF_SERVICES.replace(' ', "|")),
        Shell::Zsh => ZSH.replace("VERBS", &OF_SERVICES.replace(' ', "|")),
        Shell::Fish => FISH.replace("VERBS", OF_SERVICES),
    };
    session.print(&text)?;
    Ok(Exit::DONE)
}

/// Around the generated function: what it offers, and the names of services.
const BASH: &str = r#"
_giveover_and_services() {
    _giveover "$@"
    local current="${COMP_WORDS[COMP_CWORD]}" word
    [[ "$current" == -* ]] && return 0
    for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
        case "$word" in
            VERBS)
                COMPREPLY+=($(compgen -W "$(giveover status 2>/dev/null | cut -f1)" -- "$current"))
                return 0
                ;;
        esac
    done
}
complete -F _giveover_and_services -o bashdefault -o default giveover
"#;

const ZSH: &str = r#"
_giveover_and_services() {
    _giveover "$@"
    if [[ "$PREFIX" != -* && "${words[2]}" == (VERBS) ]]; then
        local -a services
        services=(${(f)"$(giveover status 2>/dev/null | cut -f1)"})
        compadd -a services
    fi
}
compdef _giveover_and_services giveover
"#;

const FISH: &str = r#"
complete -c giveover -n "__fish_seen_subcommand_from VERBS" -f -a "(giveover status 2>/dev/null | cut -f1)"
"#;
