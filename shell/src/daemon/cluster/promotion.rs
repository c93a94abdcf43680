//! Promotions: the command of each is begun once on every node, however the daemon ends.

use giveover_core::node::Node;
use giveover_core::share::{Action, Durable, Kind, Number, Pool};

use super::recovery::What;
use crate::cluster::promotion::{Left, Promotion, Stage};
use crate::daemon::Daemon;
use crate::message;
use crate::report::model::PromotionDoc;

impl Daemon {
    /// The promotion that is to be run once this record is kept, if `actions` ask for one and there
    /// is a command for it here.
    pub(super) fn owed(
        &self,
        group: usize,
        before: &Pool,
        record: &Durable,
        actions: &[Action],
    ) -> Option<Promotion> {
        self.promoting(group)?;
        let promotes = |action: &Action| match action {
            Action::Apply(command) => command.kind == Kind::Promote && !command.members.is_empty(),
            Action::Adopt(pool) => pool.primary != before.primary,
            _ => false, // of no promotion
        };
        let member = record.pool.primary.filter(|_| actions.iter().any(promotes))?;
        Some(Promotion::owed(record.number, member))
    }

    /// The command that makes a member the primary here. Without one it is shown, and no more.
    fn promoting(&self, group: usize) -> Option<Vec<String>> {
        if !self.acts_for_groups() {
            return None;
        }
        let plan = self.cluster.as_deref()?.plan.groups.get(group)?;
        plan.pool.as_ref()?.promote.clone().filter(|argv| !argv.is_empty())
    }

    /// Runs what is owed of a promotion. That it begins is kept first: what cannot be kept is not
    /// begun, since the next start would begin it again.
    pub(super) fn promote(&mut self, group: usize) {
        let Some(argv) = self.promoting(group) else { return };
        let Some(promotion) = self.promotion(group).filter(|it| it.left() == Left::Run) else {
            return;
        };
        let name = self.promoted_name(group, promotion.member);
        if self.keep_promotion(group, promotion.at(Stage::Begun)) {
            let what = What::Promote(promotion.number);
            self.run_shared(group, what, &argv, name.as_deref());
        }
    }

    /// What an earlier life of the daemon left of a promotion.
    pub(super) fn take_up_promotion(&mut self, group: usize) {
        let Some(promotion) = self.promotion(group) else { return };
        let Number { term, n } = promotion.number;
        let member = self.promoted_name(group, promotion.member).unwrap_or_default();
        let what =
            format!("{}: the promotion of {member}, command {term}.{n},", self.group_name(group));
        match promotion.left() {
            Left::Nothing => {}
            Left::Run if self.promoting(group).is_none() => {} // nobody acts here, or by no command
            Left::Run => {
                let text = format!("{what} had not begun when the daemon ended: it begins now");
                self.say_host(message::Event::Shared, text);
                self.promote(group);
            }
            Left::Say => {
                let text = format!(
                    "{what} was CUT SHORT: the daemon ended while it ran; it is not run again, and \
                     whether it was done is for a person to see"
                );
                self.say_host(message::Event::Nodes, text);
                self.keep_promotion(group, promotion.at(Stage::CutShort));
            }
        }
    }

    /// Its command has ended. One that a newer promotion has followed is only said.
    pub(super) fn promotion_done(&mut self, group: usize, number: Number, ok: bool, how: &str) {
        let stage = if ok { Stage::Done } else { Stage::Failed(how.to_owned()) };
        if let Some(promotion) = self.promotion(group).filter(|it| it.number == number) {
            self.keep_promotion(group, promotion.at(stage));
        }
    }

    pub(super) fn promotion_doc(&self, group: usize) -> Option<PromotionDoc> {
        let Promotion { number, member, stage } = self.promotion(group)?;
        Some(PromotionDoc {
            member: self.promoted_name(group, member)?,
            command: format!("{}.{}", number.term, number.n),
            state: stage.word().to_owned(),
            why: match stage {
                Stage::Failed(why) => Some(why),
                Stage::Owed | Stage::Begun | Stage::Done | Stage::CutShort => None,
            },
        })
    }

    fn promotion(&self, group: usize) -> Option<Promotion> {
        let cluster = self.cluster.as_deref()?;
        cluster.store.promotion(&cluster.plan.groups.get(group)?.name).cloned()
    }

    fn keep_promotion(&mut self, group: usize, promotion: Promotion) -> bool {
        let Some(cluster) = self.cluster.as_deref_mut() else { return false };
        let Some(plan) = cluster.plan.groups.get(group) else { return false };
        let kept = cluster.store.keep_promotion(&plan.name, promotion);
        if let Err(error) = &kept {
            let text = format!("{}: how far a promotion is cannot be kept: {error}", plan.name);
            self.say_host(message::Event::Nodes, text);
        }
        kept.is_ok()
    }

    fn promoted_name(&self, group: usize, member: Node) -> Option<String> {
        self.shared_plan(group)?.members.get(usize::from(member.0)).cloned()
    }
}
