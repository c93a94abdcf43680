//! The events, each with what it means and what to do about it.
//!
//! The text above a variant is its documentation and what `giveover help WORD` prints: one text
//! cannot contradict itself.

use super::{Debug, Level};

macro_rules! catalogue {
    ($($(#[doc = $about:literal])+
       $name:ident $word:literal $level:ident $id:literal
       $(debug $debug:ident)? $(legacy $legacy:literal)?;)+) => {
        /// What can happen, as logs, screens and JSON know it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Event {
            $($(#[doc = $about])+ $name,)+
        }

        impl Event {
            /// Every event, in the order of the catalogue.
            pub const ALL: [Self; [$($word),+].len()] = [$(Self::$name),+];

            const fn entry(self) -> &'static Entry {
                match self {
                    $(Self::$name => const {
                        &Entry {
                            word: $word,
                            level: Level::$level,
                            id: $id,
                            about: &[$($about),+],
                            debug: Debug::Off $(.or(Debug::$debug))?,
                            legacy: false $(| $legacy)?,
                        }
                    },)+
                }
            }
        }
    };
}

/// What the catalogue holds of an event.
struct Entry {
    word: &'static str,
    level: Level,
    id: u128,
    about: &'static [&'static str],
    debug: Debug,
    legacy: bool,
}

impl Debug {
    /// Lets the macro write an optional value over the usual one.
    const fn or(self, other: Self) -> Self {
        other
    }
}

impl Event {
    /// Its word in JSON, in the journal's `GIVEOVER_EVENT` and for `giveover help`.
    #[must_use]
    pub const fn word(self) -> &'static str {
        self.entry().word
    }

    /// How much it matters.
    #[must_use]
    pub const fn level(self) -> Level {
        self.entry().level
    }

    /// The journal's `MESSAGE_ID`: made up once, constant for ever.
    #[must_use]
    pub fn id(self) -> String {
        format!("{:032x}", self.entry().id)
    }

    /// What it means, and what to do about it.
    #[must_use]
    pub fn about(self) -> String {
        let lines: Vec<&str> = self.entry().about.iter().map(|line| line.trim()).collect();
        lines.join(" ")
    }

    /// The debugging that has to be on for it to be written.
    #[must_use]
    pub const fn needs_debug(self) -> Debug {
        self.entry().debug
    }

    /// Whether its text is one of the source documents', character for character.
    #[must_use]
    pub const fn is_legacy(self) -> bool {
        self.entry().legacy
    }

    /// The event that [`Event::word`] names; `None` for a word of another version.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|event| event.word() == word)
    }
}

catalogue! {
    /// A check failed, and it counts. Nothing to do while the sum stays below 100; `giveover
    /// explain NAME` says what the next one leads to.
    Failure "failure" Warning 0x4191a8a62e3843d881723d50c0dc9fdb;
    /// The service's process ended and nobody had asked for it: a complete failure at once.
    Died "died" Warning 0x1bae52a9667a41779e0cf7e35d738f54;
    /// The failures made 100 and the budget had room: the service is stopped and started here. An
    /// operator's restart is not charged.
    Restart "restart" Warning 0x0648d76891cb4bb9b4b3060363d1252f;
    /// A restart that waited for its delay is no longer wanted: the service is healthy again, or
    /// held. It leaves the budget.
    CalledOff "called_off" Notice 0xc1eabf2da9bf40a0a71f6e41d808b994;
    /// The restart has been carried out. Failed probes count nothing until `start_grace` has passed
    /// or the first healthy one.
    Restarted "restarted" Notice 0x65f40298ac39447bac57ac882343fc5c;
    /// The restart stopped the service and could not start it, or `validate` refused it beforehand.
    /// Run the start command by hand as the service's user.
    RestartFailed "restart_failed" Error 0xcab41e2bc6eb451d919d327dbbe72d8e;
    /// The old instance is not proven gone, so nothing is started and nothing handed over. The stop
    /// is tried again each cycle; look for processes in D state.
    StopFailed "stop_failed" Error 0xcf3cae3924da40ad8d772dad2d7879cb;
    /// Another supervisor restarted the service before we could; it is charged as a restart. Set
    /// `Restart=no` in its unit so that only one of the two counts.
    Healed "healed" Warning 0x1644b55a3bfe4fe4b2290f27079f2118;
    /// The restarts of the window are used up, a result skipped the restart, or an operator asked:
    /// the service is to be handed over.
    Giveover "giveover" Error 0xe778146051874bf2aac140b9c5b3c026;
    /// The giveover will be carried out; the monitor here ends once the service is stopped.
    Granted "granted" Error 0xa17a5264f10747e1a10c66ad1012ab43;
    /// The giveover was refused for this attempt: histories are emptied and monitoring starts
    /// afresh. The service is left as it is; a dead one is restarted.
    Denied "denied" Error 0xca7d43db55ce4f228864d5b4bd619e85;
    /// The giveover cannot be answered now and is asked for again after 10 s; a healthy cycle
    /// cancels it.
    NotNow "not_now" Error 0x31063072667149428da79a940d568c3d;
    /// A granted giveover could not be carried out. If the service was stopped it is started here
    /// again.
    Aborted "aborted" Error 0x95fe4911844e47bdb9b93fd4ce6dfdd1;
    /// A giveover ended half: nobody knows whether the other side runs, so nothing is started here.
    /// Find out, then `giveover release NAME`.
    Unproven "unproven" Error 0x32c33d1e261d43c195b6ae6e58c96230;
    /// A failure past the budget, and nobody to give it to: the service stays faulted and is probed
    /// on, and restarts resume as the old ones are forgotten. `giveover clear NAME` refills the
    /// budget at once.
    BudgetSpent "budget_spent" Error 0x55e22dff107f46a8b5f34eb1a76b95be;
    /// A failure of a service that is only watched (`log_only`): it is written down and nothing is
    /// done.
    Logged "logged" Error 0x17301d81d5da4127af359e6dd1abe9ef;
    /// A person asked to leave the service as it lies: it is probed and shown, and nothing counts.
    /// The hold ends by itself unless it was made for ever.
    Held "held" Notice 0x29369fbc35fe4bfa8b2dc962f93c0e5f;
    /// The hold has ended. A process that died meanwhile is a complete failure now.
    Released "released" Notice 0x6006f2de7984497cbd3954b3619759ea;
    /// A person made the monitor forget the failures and restarts of a service.
    Cleared "cleared" Notice 0x4f1673e5c2c243a29e7d14ef67ddba79;
    /// The service is ok again. The incident, from its first failure to here, has one number.
    Recovered "recovered" Notice 0x7178a39ff925463d9ab5c89b71d3840b;
    /// A check could not run for three cycles: our own lack, or a configuration that cannot be
    /// used. It counts nothing, and the status is the last one known.
    Unmeasured "unmeasured" Warning 0x6bde9d3399aa4668bc4b6feae7bf3375;
    /// Checks that could not run are running again.
    Measured "measured" Notice 0x18efdcb7c0354c61b8a37366ea564d90;
    /// A probe took more than 80 % of its time. It counts nothing; raise `timeout` or find what is
    /// slow before it does.
    SlowProbe "slow_probe" Warning 0x354e6cd89aa348cda5b1c4eae6d07b8b;
    /// An error of a database, or a line of its log, for which there is a row in the table of errors;
    /// what is done about it is behind the colon. Told once for as long as nothing else happens.
    DatabaseError "database_error" Warning 0x620bf74897780753bbd812eb90ecf8a1;
    /// A program that a row of errors runs in the background has ended.
    RowRan "row_ran" Notice 0x33bbc0a425353a9eca97ba93d28d99a6;
    /// A service this one needs is not ok: it is probed and shown, and nothing counts until that
    /// one is.
    NeedUnmet "need_unmet" Notice 0xee3286c3942a4e728498d832b5182576;
    /// The services this one needs are ok again.
    NeedMet "need_met" Notice 0x931d0444abda44ceadaa11d56b45f990;
    /// The service has been started, and its monitor begins.
    Started "started" Notice 0x25a475470a30467ea78c8f1f37ecc203;
    /// The service could not be started when it was first to be. Run the start command by hand as
    /// the service's user.
    StartFailed "start_failed" Error 0x81209f2df7774a04a0d8806ecb9dc007;
    /// The service has been stopped on purpose and is offline until someone starts it.
    Stopped "stopped" Notice 0x08dd403050c54f21b994fdd4f06d6666;
    /// The service was already running when the monitor came up, and is watched as it is.
    Adopted "adopted" Notice 0x8dfd6507f2d942c7b59ba2511f02c3db;
    /// Monitoring ended while the service runs on. `giveover monitor start NAME` begins it again.
    MonitorEnded "monitor_ended" Notice 0x32850e9500c74103b2ed7f97f414ca5f;
    /// Monitoring begins, with empty histories.
    MonitorBegun "monitor_begun" Notice 0x696426b2ea3d4636947ecf3a2ee502fb;
    /// `giveover notify` said something about the service.
    Reported "reported" Info 0x6eef2f8a57b24092a993a0af376f4c6a;
    /// A work unit that an agent reports has failed: a complete failure at once, unless the check says
    /// otherwise.
    UnitFailed "unit_failed" Warning 0x5f0c1e6a92d84b7e9b3d1a7c40e86f25;
    /// That work unit is well again.
    UnitWell "unit_well" Notice 0xa3d7f1429c5e4e08b6f2903d58c17ae4;
    /// A heartbeat came that is not signed with our key, repeats an old one, or tells a time too far
    /// from ours. It changes nothing. Compare keys and clocks; else somebody plays with it.
    BeatRefused "beat_refused" Warning 0xc82b6e05d31f4a9786e4f0b92d7c5a13;
    /// What a `log`, `path` or `process` check saw, in its own words: the line that matches, the
    /// path that does not answer.
    Seen "seen" Warning 0x17e94d3b8ac2450f92d6c1fe70b3a586;
    /// A probe was healthy.
    Healthy "healthy" Debug 0x24e72d8b1eca48b78c1fd74b7f41a647 debug High;
    /// Many services fail at once and no trusted server answers: the fault is probably this host's
    /// network. Failed probes count nothing until one answers; deaths still do.
    LocalFault "local_fault" Critical 0xdfcbe671a956495387befe7b1e60930d;
    /// A trusted server answers again, or few services fail: failed probes count.
    LocalFaultOver "local_fault_over" Notice 0x97ce0fa5cef146d98538b7183fedce4d;
    /// The host has used up `host.actions`: no service is restarted or given over until the window
    /// frees. Something fails that restarts do not mend.
    HostBudget "host_budget" Critical 0x1ca28e7f495f4d1689812499d0518713;
    /// The host's action budget has room again.
    HostBudgetOver "host_budget_over" Notice 0x8d305aa22b4b49e18b952d819bbe1436;
    /// A stop failed under `failover_mode = "hard"`: this node is being reset.
    Reset "reset" Critical 0x3472581e0b8142dcb7ed034acc8e4f65;
    /// A reset of this node was asked for and is not made: none is possible, its budget is spent,
    /// or the host has just booted.
    ResetRefused "reset_refused" Critical 0x6dd2b88962db45e99383ed1f812390ab;
    /// The board guards this host: it is fed, and resets this host when that stops.
    BoardArmed "board_armed" Notice 0x90c656dcc9a14f80a6b5abc2844455cb;
    /// No board guards this host, for the reason given. `giveover board status` says what to do.
    BoardNotArmed "board_not_armed" Critical 0xbe102e60e89d4aaaa886c74aeae61444;
    /// The board was fed late, past 60 % of its time-out, or is not fed because something here is
    /// late. Raise `board.timeout` or find what keeps the monitor from running.
    BoardMissed "board_missed" Warning 0x31c3cfb9ea7a44d197fa13db798e6b2b;
    /// The board has reset this host since it was last heard.
    BoardReset "board_reset" Critical 0xf938325634dd4400a640f10943634107;
    /// Something was asked of the board, and done.
    Board "board" Notice 0x6a8142c6d94f44308a59dda567e10520;
    /// A member of a pool is excluded: it gets no new work until what keeps it out is over, and its
    /// checks have passed.
    PoolOut "pool_out" Warning 0xf768064f958507ad239eed24c2c063fe;
    /// A member of a pool takes part again, or takes another share.
    PoolIn "pool_in" Notice 0x5966eb44e0c6774455113dc30e9a8df5;
    /// A member of a pool has failed and stays in all the same, because `min_members` would not be
    /// there without it.
    PoolKept "pool_kept" Warning 0xb9c48cb01720800e4ca82984fcb042d9;
    /// A person took a member out of distribution: what it has to do it goes on doing, and nothing
    /// new comes. It ends by itself unless it was made for ever.
    PoolDrained "pool_drained" Notice 0xa83c546dbc4d13dcd6c93f01a9f18630;
    /// A drain has ended. The member is in again once its checks have passed.
    PoolEnabled "pool_enabled" Notice 0xace970fccddba416a3966023df2d5c05;
    /// No member of a pool takes work: `none_left` says what clients get instead.
    PoolNoneLeft "pool_none_left" Critical 0x00633256e25fe71d4fe2c4e12b5eadad;
    /// Members of a pool take work again.
    PoolSomeLeft "pool_some_left" Notice 0xe66c0e9819428e8a34c6049fa9998118;
    /// Nothing can be said of a pool's members, most likely for a fault of our own: nobody is
    /// excluded or readmitted until that is over. Drains still are.
    PoolFrozen "pool_frozen" Critical 0x3c19c840d9f9bacda62d2465be71c2d9;
    /// Members of a pool can be judged again; what was seen before counts no more.
    PoolThawed "pool_thawed" Notice 0xe7f137f5a11b5c7df5a6b47b57a73cab;
    /// Connections of a member were cut, because it is excluded or its drain is over.
    PoolCut "pool_cut" Notice 0x12f034c143d2ba1160a8a1e2fdbc4be2;
    /// Somebody who is to be told of a pool's members cannot be, so that it may not follow. It is
    /// tried again.
    PoolDriver "pool_driver" Error 0x83de0b93946a0998d6567964cfbaa4dd;
    /// Whoever is told of a pool's members follows again.
    PoolDriverWell "pool_driver_well" Notice 0x068c193bf65cc9029f777337923fe54e;
    /// What this node is for a group has changed: active, standby or down, in which term and by how
    /// many votes.
    Role "role" Notice 0x3d0f5b9a64c14e7f9b2a80c7d1e6f352;
    /// Another node is heard, or is heard no more. `giveover node status` says why.
    Peer "peer" Notice 0x90b7e2c45d1f4a68a3e90f7b6c2d8154;
    /// A group's addresses came up here, or went, or something is in the way of that.
    Address "address" Notice 0x84f0d3a96b1e4c57a2e9517c0d38bf62;
    /// Another node's configuration differs, so it counts for nothing until both have the same.
    PeerRefused "peer_refused" Error 0x6c1de80f2b934f57b4d7a9e3502fc861;
    /// Nodes could not do what they should: a vote that was not kept, a fence that was not
    /// acknowledged, a stop that is not proven, two that are active.
    Nodes "nodes" Error 0xe51a7c93d0b64281a6f80e4d7b3c2f9a;
    /// A command about members of a pool was carried out here as on every node: which, and by whom it
    /// was numbered.
    Shared "shared" Notice 0x7d21c6e8f43b4a90b5d80e2f96a1c374;
    /// A recovery has begun, failed to begin, or ended: while it lasts no node takes new connections.
    Recovery "recovery" Notice 0x1f86b0d35ea94c7290c4d7e83ab5162e;
    /// How the nodes of the configuration decide between them, and what each fault costs.
    Decides "decides" Notice 0x27f3b8d51ce94a0e8d65f1a904b7e3c2;
    /// The configuration was read again. Services whose name stays keep their histories.
    Reloaded "reloaded" Notice 0xa70fd077e69a43e69177b33286110dee;
    /// The configuration was refused and the old one goes on. `giveover check` shows every error.
    Refused "refused" Error 0x57962e25c33f4b3fa8850ece10c189cf;
    /// SIGHUP came while a start, stop or giveover is under way. The configuration is read when it
    /// is done.
    ReloadWaits "reload_waits" Notice 0x0d5c9b6fd0a34a1e8a5b7d6c2f914e37;
    /// Someone without the right to command tried to. `[control] command` says who may.
    Forbidden "forbidden" Warning 0x4bad0bfe8e7d4503b4099dc57db64537;
    /// A journal could not be read to its end. It was set aside under the name given; what it held
    /// is not taken for healthy.
    JournalDamaged "journal_damaged" Error 0x721eb70bce1a4242a7bafc3d3622007a;
    /// The journal cannot be written, so what is decided now would be forgotten in a crash. Free
    /// the disk or repair it; nothing is restarted because of it.
    JournalFailing "journal_failing" Critical 0x3986405075364191a81056c87f55d816;
    /// The journal can be written again.
    JournalWell "journal_well" Notice 0x5c81054896a641cd8246d80b6d695dae;
    /// A name that checks use no longer resolves. Its last addresses are used on where it had any;
    /// a check without an address cannot be measured. `getent ahosts NAME` asks as we do.
    NameFailing "name_failing" Warning 0x2f0c2b7c8d3a4e55a7d16b0f9ce41d83;
    /// That name resolves again.
    NameResolved "name_resolved" Notice 0x95b8e3f16a074c2c8e40d7a95c1fb26e;
    /// We did not run for a while (suspend, a stop signal, overload): probes in flight count
    /// nothing.
    Slept "slept" Warning 0xd25e71162760469582278b168fa54908;
    /// The wall clock was set. Times on screens follow it; nothing that is decided does.
    ClockStepped "clock_stepped" Notice 0x5b0d1c3e9f6a47d28c4e7a1b2f3d6c90;
    /// The monotonic clock went back, which it should not; decisions were made as at the latest
    /// time seen.
    ClockWentBack "clock_went_back" Warning 0x6b2fac9309b749aa8bab566994df2608;
    /// A notice of `[notify.NAME]` was not delivered, for the reason given: run its command by hand,
    /// or ask its URL. The event itself is in `giveover events`.
    NotifyFailed "notify_failed" Warning 0x5f1c0d7be2a94c18b6a3f0927d4e81c5;
    /// Nobody can look at the address or socket of `[watch]`: something else is there, or this
    /// process may not use it. Everything else goes on.
    WatchFailed "watch_failed" Error 0x8d2b64f1a07e4b93a5c81e6f3d90274b;
    /// The monitor itself has started.
    DaemonStarted "daemon_started" Notice 0x2fd47660de834c719619cbfddee83c6f;
    /// The monitor itself was told to stop.
    DaemonStopped "daemon_stopped" Notice 0xbc65a9fe5b304f8991ffec203b916c76;
    /// Someone changed how much debugging output is written.
    DebugLevel "debug_level" Notice 0x54a37002112e459a8228032b6fc9aa51;
    /// The log could not take lines: nobody reads the pipe, or journald is behind. What was lost is
    /// in `giveover events`.
    LogLost "log_lost" Warning 0x74c0d4bbc8e1442da69652420563e3ba;
    /// What people are told about a service has changed: one of the four status texts.
    Status "status" Info 0xa86a14eac25149e6abc500e14d6a2d2a;
    /// pgpool-II's line for what a node does: it starts, becomes active, has the address, stops.
    Watchdog "watchdog" Info 0x9c41d7f0be2348a6a15d0e8b73c2f964 legacy true;
    /// pgpool-II's line for what keeps a node from starting.
    WatchdogError "watchdog_error" Error 0x3f70a8c5e19b4d26b8e1c74d0a6f5923 legacy true;
    /// pgpool-II's lines of a life check: which node, whether it answered, its status and life.
    LifeCheck "life_check" Debug 0xe5d2186b4c7f4ea09b36fa1d85c07e41 debug Low legacy true;
    /// pgpool-II's line for a node whose life is spent.
    LifeCheckFailed "life_check_failed" Info 0x60b9f3a27d15489c8ef2b64a1c0d7538 legacy true;
    /// The source documents' notice of a probe.
    Probing "probing" Info 0xb03ea536c68c4f8fb245b0ab607495eb legacy true;
    /// The source documents' error for a service without an address: it cannot be measured until it
    /// has one.
    NoAddress "no_address" Error 0xbe4102b4f38d462cbae42a72bffa60c3 legacy true;
    /// The source documents' error for a connection that failed: a complete failure.
    ConnectFailed "connect_failed" Error 0x49169927e862448d87b61e7078a112da legacy true;
    /// The source documents' note on a connection that used up all the time of its probe.
    ConnectOverran "connect_overran" Debug 0x759b5647623d4eecbe697292591f47cb debug Low legacy true;
    /// The source documents' error for a disconnection that failed: half a failure.
    DisconnectFailed "disconnect_failed" Error 0x381b9be133f94d10898c89f5f798b385 legacy true;
    /// The source documents' error for a probe without time left for its last step: half a failure.
    ProbeTimedOut "probe_timed_out" Error 0xe2204f9d6cd04f8f95b7116c40c8a5d5 legacy true;
    /// The source documents' note on the command about to be run.
    CheckingServer "checking_server" Debug 0x4994705134d54e55bd319dc8d9136a95 debug High legacy true;
    /// The source documents' error for a check command that failed: half a failure.
    CheckCommandFailed "check_command_failed" Error 0x3505cc3fa44341298858cb557d767527 legacy true;
    /// The source documents' error for a web server without addresses or ports: it cannot be
    /// measured until it has some.
    NoNetworkResources "no_network_resources" Error 0xa64614288eb04507ad0e8cda3f3df0ca legacy true;
    /// The source documents' error for a server whose own configuration cannot be used: it cannot be
    /// measured until it can.
    ConfigurationUnparsable "configuration_unparsable" Error 0x7300585eca3aa90d385f009150166990 legacy true;
    /// The source documents' error for a web server that takes no connection on one of its
    /// addresses and ports: a complete failure.
    ServerConnectFailed "server_connect_failed" Error 0xee8637b1f8da4b27af87648f9ef2f5a6 legacy true;
    /// The source documents' error for a web server to which nothing could be sent (a complete
    /// failure), or whose reply could not be read (half of one).
    CommunicationFailed "communication_failed" Error 0x966e8b5e5eac48edbcbdc79a375afada legacy true;
}
