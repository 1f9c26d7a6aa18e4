package reason

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

var (
	at      = time.Date(2026, 11, 26, 8, 0, 0, 0, time.UTC)
	later   = at.Add(time.Hour)
	orphan  = Orphaned{"TASK", "AGENT"}
	one     = Need{Shards: 1, Each: "1 CPU", Executor: "2 CPU", App: "APP"}
	many    = Need{Shards: 3, Together: true, Each: "1 CPU", Executor: "2 CPU", App: "APP"}
	several = Need{Shards: 3, Each: "1 CPU", Executor: "2 CPU", App: "APP"}
	agent   = Agent{"AGENT", "HOST"}
	said    = FromText("exit status 3")
)

// examples contains each code at least once, with all possible arguments.
var examples = []Reason{
	Of(KilledOnRequest).Saying(said), Of(ServerStopped).Saying(said), Of(SettingsChanged).Saying(said),
	Of(Deregistered).Saying(said), Of(Disabled).Saying(said), Of(ShutDown).Saying(said), Of(AppMissing).Saying(said),
	Of(NoDaemonAnyMore).Saying(said), Of(BecameDaemon).Saying(said), Of(DestinationMoved).Saying(said),
	JobPaused("JOB").Saying(said), AppIsDisabled("APP").Saying(said),
	ShardingTotalCountChanged(2, 3).Saying(said), OverridesDoNotFit("PROBLEM").Saying(said), DroppedFromQueue(100),
	DroppedOfTooMany(1000),

	said, Of(FrameworkRemoved), Of(LostBeforeImport), OverMemoryLimit("MESSAGE"), OverDiskLimit("MESSAGE"),
	ExecutorEnded("EXECUTOR", "AGENT", "FAILED", "EXECUTOR_TERMINATED", "MESSAGE"),
	ExecutorEnded("", "AGENT", "FAILED", "EXECUTOR_TERMINATED", "MESSAGE"), AgentDraining("DRAINING", "MESSAGE"),
	ClusterReported("LOST", "RECONCILIATION", "MESSAGE"), EndUnexplained("LOST"), LaunchRefused("MESSAGE"),
	LostTooOften(1, said), NotStartedTooOften(false, 3, "AGENT", said), NotStartedTooOften(true, 3, "AGENT", said),
	TimedOut(5*time.Second, 3, said), EndedByForce(said), ShardsForced(1, 3), ShardsForced(2, 3),
	StuckStaging("AGENT", time.Minute), AgentUnreachable("AGENT", time.Minute),
	NoHeartbeat("AGENT", time.Minute), TakenBack("AGENT", time.Minute), EndedAfterGivenUp(), TookMachines(2, said),
	ExecutorsSilent(at),
	CannotStay(5, said), ShardsFailed(2, 1, 3, 2, said), ShardsKilled(1, 3, 2, said), OfItem(2, said),

	Of(Stopping), NotConnected(""), Of(NothingOffered), Of(AboutToPlace), DocumentFaulty("PATH", said),
	AppNotRegistered("APP"), AppDocumentFaulty("APP", said), BeingEnded("EXECUTION", said),
	DaemonBeingEnded("EXECUTION"),
	OneAtATime("EXECUTION", "running"), orphan.MayBeEnding(at), orphan.HoldsLease(at), orphan.Unkilled(),
	orphan.StuckStaging(), orphan.KillUnconfirmed(),
	orphan.Unanswered(), orphan.MayRun(), orphan.OfOtherMaster("FRAMEWORK"),
	orphan.OfRemovedFramework("FRAMEWORK", time.Minute),
	PackageUnfetchable(HostSilent("HOST"), 1, at), PackageBeingTried(AnswerBad("HOST"), 2, "EXECUTION"),
	SettingsTooLarge(false, 3, "1 MB", "3 MB", "2 MB", "EXECUTION"),
	SettingsTooLarge(true, 3, "1 MB", "3 MB", "2 MB", "EXECUTION"),
	LaunchesHeld("WHY"), TakeoverUnreported(), TakeoverEnding("TASKS", 2), TakeoverEnding("", 1), NotConnected("WHY"),
	RetryAt(at), AfterAttempt(RetryAt(at), said),

	Of(NothingOnOffer), NoAgentUsable(one, 1, AgentsReserved(1, agent, "EXECUTION")),
	NoRoom(many, 2, 1, agent, "1 CPU", All(AgentsFull(1, agent), AgentsAvoided(1, agent, said))),
	NoRoom(several, 2, 1, agent, "1 CPU",
		All(AgentsReserved(2, agent, "EXECUTION"), AgentsFull(2, agent), AgentsAvoided(2, agent, said))),
	WithNextLaunch(2, "1 MB", "2 MB"), NeverFits(one, agent, "4 CPU"), HolderNotOnOffer("AGENT"),
	HolderClosed("AGENT", "WHY"),
	AgentsClosed("AGENT", "WHY", 1), StartFailed(false, 1, said, at), StartFailed(true, 1, said, at),
	MaintenanceBegins(at, later), Cordoned(at, later, "USER", "WHY"), DeclaredDead(at, "USER", "WHY"),
	MachineDead("MACHINE", "USER"), EndConfirmed("USER"),
	MachineDrained("MACHINE"), DrainMayFinish(at), DrainNoRoom("4 CPU", at), DrainTurn(),
	DrainStopping(at), DrainUnreachable(at), DrainOrphan(),
	HolderAvoided("AGENT", said),
	InMaintenance(at, later), ClusterRule("WHY"), WouldFit(false, 1), WouldFit(true, 3), WouldNotFit(several, 1),
	NoAgentSeen(),

	FireFoundBusy(at, "EXECUTION", "RUNNING"), OldestDropped(100, at), OldestOfAllDropped(1000, at),
	FiresSkipped(2, at, 1),
	ShardWasDown(1, at, later), FiresMissed(at, later), FiresMadeUp(at, later, 3),

	LastGoodInForce("PATH", DocumentUnreadable("WHY")), OfPath("PATH", MarkUnreadable("WHY")),
	CronNeverFires("CRON", false),
	CronNeverFires("CRON", true), TooFewAgents(2, 3), AgentsTooSmall("2 CPU", false, "1 CPU"),
	AgentsTooSmall("2 CPU", true, "1 CPU"), MemoryTooSmall("8", 16, 32), NotNotified("EXECUTION", "WEBHOOK", 1, "WHY"),
	ClockBehind(at), ClockLeapt(at, at), FiresTakenBack(at, at), FiresMadeAhead(at),
	NothingUntilThatEnds(said), ShownAsLastKnown("WHY"), TimeoutKillRequested(at), KillRequested(at),
	EndsWithRun(said), AgentSilent("AGENT", at), ExclusiveUnreachable("TASK", "AGENT", at),
	LeaseNotAsked("TASK", "AGENT", at), NotNotified("", "WEBHOOK", 1, "WHY"),
	MachineSilent("HOST", at, 2), MachineSilent("HOST", at, 0), MachineBack("HOST", time.Minute), MachineGone("HOST", at),
	MachineFlaps("HOST", 3, at), MachineIsDrained("HOST"), MachineDraining("HOST", 1),
	DrainOverdue("HOST", at, 2, 3, "JOB", said), MachineCordoned("HOST", said),
	MostSilent(3, 4), MostHeardAgain(time.Minute), MostUnreachable(2), JobBlocked("JOB", at, said), JobUnblocked("JOB", time.Minute),
	CauseMissing("LOST"), ExecutorQuiet(time.Minute, "AGENT"),
	ClockOff(agent, time.Second), ClockOff(agent, -time.Second), LastRunEnded(at, "FAILED", said),
	MoreLastRunsEnded(2), RollingOut(1, false, 1), RollingOut(1, true, 2), AgentAway("HOST", 1),
	AppNotFetched(HostSilent("HOST"), said),
	FireLate(), TakesNoTasks("WHY"), KillUnanswered(), DaemonsUnheard(time.Minute),
}

// each calls fn with the given reasons and all reasons nested in them.
func each(rs []Reason, fn func(Reason)) {
	for _, r := range rs {
		fn(r)
		for _, a := range r.args {
			if !a.inner.IsZero() {
				each([]Reason{a.inner}, fn)
			}
		}
	}
}

var field = regexp.MustCompile(`\{(\w+)`)

// TestWords checks that every code has a template in both languages that names exactly its possible arguments. Only the
// argument agents may be left out.
func TestWords(t *testing.T) {
	t.Parallel()
	var seen []Code
	each(examples, func(r Reason) {
		seen = append(seen, r.code)
		for in, language := range [...]string{"English", "Chinese"} {
			template := templateOf(r.code, Language(in))
			if template == "" {
				t.Fatalf("%s: no words in %s", r.code, language)
			}
			var named []string
			for _, f := range field.FindAllStringSubmatch(template, -1) {
				named = append(named, f[1])
			}
			for _, a := range r.args {
				if !slices.Contains(named, a.name) && a.name != "agents" {
					t.Errorf("%s: %s in %s leaves out %s", r.code, template, language, a.name)
				}
			}
			for _, name := range named {
				if r.arg(name) == nil {
					t.Errorf("%s: %s in %s names %s, which no example has", r.code, template, language, name)
				}
			}
			if words := r.Words(Language(in)); words == "" || strings.ContainsAny(words, "{}[]|#?") {
				t.Errorf("%s in %s: %q", r.code, language, words)
			}
		}
	})
	slices.Sort(seen)
	for in := range templates {
		for code := range templates[in] {
			if !slices.Contains(seen, code) {
				t.Errorf("%s has words and no example", code)
			}
		}
	}
}

// sentences are reasons with some of their arguments, and their words in English.
var sentences = []struct {
	r    Reason
	want string
}{
	{Reason{}, ""},
	{Of(Paused), "the job is paused"},
	{JobPaused("a"), "the job is paused: POST /api/job/a/resume"},
	{Of(AppDisabled), "its app is disabled"},
	{ClusterReported("LOST", "", ""), "LOST: the cluster gave no message"},
	{LostTooOften(1, ClusterReported("LOST", "REMOVED", "gone")), "lost 1 time; last: LOST (REMOVED): gone"},
	{LostTooOften(2, said), "lost 2 times; last: exit status 3"},
	{TimedOut(5*time.Second, 3, Reason{}), "timed out: it ran for 5s, the job's timeoutSeconds is 3"},
	{AfterAttempt(RetryAt(at), said), "tried again at 2026-11-26T08:00:00Z; the last attempt: exit status 3"},
	{NoAgentUsable(one, 1, AgentsFull(1, Agent{ID: "a"})), "1 shard needs 1 CPU (and 2 CPU once per agent for the " +
		"executor of APP), but the only agent on offer may not be used: agent a is full: it has as many tasks as it takes"},
	{NoRoom(Need{Shards: 3, Together: true, Each: "1 CPU", App: "APP"}, 2, 0, agent, "1 CPU", Reason{}),
		"3 shards, which " +
			"start together, need 1 CPU each, but 2 agents on offer have room for none; the closest to one more is agent AGENT " +
			"(host HOST), which lacks 1 CPU"},
}

func TestSentences(t *testing.T) {
	t.Parallel()
	for _, c := range sentences {
		if got := c.r.String(); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
	if got := LostTooOften(2, said).Words(Chinese); got != "已丢失 2 次；最近一次：exit status 3" {
		t.Error(got)
	}
	if got := build("of_a_later_release", text("a", "b")).String(); got != "of_a_later_release" {
		t.Error(got)
	}
}

// TestStored checks that stored reasons, and sentences of earlier releases, are read back.
func TestStored(t *testing.T) {
	t.Parallel()
	for i, r := range append(examples, Reason{}) {
		data, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		var got Reason
		if err = json.Unmarshal(data, &got); err != nil || !got.Equal(r) || got.String() != r.String() {
			t.Errorf("%s became %s, %v", data, got, err)
		}
		if next := examples[(i+1)%len(examples)]; got.Equal(next) || !r.IsZero() && next.Equal(got) {
			t.Errorf("%s equals %s", got, next)
		}
	}
	for stored, want := range map[string]Reason{
		`"killed on request"`: Of(KilledOnRequest), `"exit status 3"`: said, `""`: {}, `null`: {}, `{}`: {},
	} {
		got := Of(Disabled)
		if err := json.Unmarshal([]byte(stored), &got); err != nil || !got.Equal(want) {
			t.Errorf("%s became %s, %v", stored, got, err)
		}
	}
	for _, bad := range []string{`3`, `[]`, `{"code":"a","args":{"b":3}}`, `{"code":"a","args":[]}`} {
		if err := json.Unmarshal([]byte(bad), &Reason{}); err == nil {
			t.Errorf("%s was read", bad)
		}
	}
}

func TestArgs(t *testing.T) {
	t.Parallel()
	data, err := json.Marshal(LostTooOften(2, ShardsFailed(1, 0, 3, 2, Of(Disabled))).Args())
	want := `{"last":{"args":{"cause":{"code":"job_disabled"},"failed":"1","item":"2","shards":"3"},"code":"shards_failed"},"times":"2"}`
	if err != nil || string(data) != want {
		t.Errorf("%s %v", data, err)
	}
}

func TestShortened(t *testing.T) {
	t.Parallel()
	short := func(text string) string { return text[:min(len(text), 10)] }
	got := LostTooOften(2, FromText("a very long text")).Shortened(short).String()
	if got != "lost 2 times; last: a very lon" {
		t.Error(got)
	}
	if r := Of(Disabled); r.Shortened(short).content != r.content {
		t.Error("a reason without a long text was copied")
	}
}
