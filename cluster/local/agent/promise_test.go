package agent

import (
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	mesos "github.com/mesos/mesos-go/api/v1/lib"
	"github.com/mesos/mesos-go/api/v1/lib/executor"
)

// An acknowledgement applies to one update. A repeated or late one removes no other update from the stream. Otherwise
// FINISHED would never reach a framework that was disconnected when it was first sent.
func TestARepeatedAcknowledgementRemovesNoOtherUpdate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, repeatedAcknowledgementTakesNothingElseOut)
}

func repeatedAcknowledgementTakesNothingElseOut(t *testing.T) {
	a, m, pass := stillAgent(t)
	ex := a.running(t, "t1")
	for _, s := range []mesos.TaskStatus{testStatus("t1", "1", mesos.TASK_RUNNING),
		testStatus("t1", "2", mesos.TASK_FINISHED)} {
		if err := a.receive(ex, s); err != nil {
			t.Fatal(err)
		}
	}
	for range 3 {
		a.acknowledged("t1", testStatus("t1", "1", 0).UUID)
	}
	pass(time.Hour)
	told := 0
	for _, c := range m.all() {
		if c.update.Status.GetState() == mesos.TASK_FINISHED {
			told++
		}
	}
	if told < 2 {
		t.Errorf("FINISHED was sent %d times within an hour without an acknowledgement of it", told)
	}
	// Replaying the journal yields the same, whatever was written into it.
	if err := ex.journal.append(record{Kind: recAcked, Task: "t1", UUID: testStatus("t1", "1", 0).UUID}); err != nil {
		t.Fatal(err)
	}
	journal, records, err := openJournal(ex.journal.path)
	if err != nil {
		t.Fatal(err)
	}
	defer journal.close()
	again := &recoveredRun{ex: &executorRun{framework: ex.framework, tasks: map[string]*task{}}}
	for i := range records[1:] {
		if err := again.apply(&records[i+1]); err != nil {
			t.Fatal(err)
		}
	}
	if left := again.ex.tasks["t1"]; left == nil || len(left.pending) != 1 ||
		left.pending[0].GetState() != mesos.TASK_FINISHED {
		t.Errorf("after a restart the task is %+v, want FINISHED not yet acknowledged", left)
	}
}

// An executor drops an update once it is acknowledged. So an update that is not recorded must not be acknowledged to
// the executor: it would be lost at the next restart of the agent.
func TestWhatIsNotRecordedIsNotAcknowledged(t *testing.T) {
	t.Parallel()
	synctest.Test(t, whatIsNotRecordedIsNotAcknowledged)
}

func whatIsNotRecordedIsNotAcknowledged(t *testing.T) {
	a, m, pass := stillAgent(t)
	ex := a.running(t, "t1")
	ex.session.Take()
	if err := ex.journal.file.Close(); err != nil {
		t.Fatal(err)
	}
	acknowledged := func() (all []string) {
		events, _ := ex.session.Take()
		for _, e := range events {
			if e := e.(*executor.Event); e.Type == executor.Event_ACKNOWLEDGED {
				all = append(all, string(e.Acknowledged.UUID))
			}
		}
		return all
	}
	finished := testStatus("t1", "1", mesos.TASK_FINISHED)
	update := &executor.Call{Type: executor.Call_UPDATE, Update: &executor.Call_Update{Status: finished}}
	update.ExecutorID.Value, update.FrameworkID.Value = "ex1", "fw-0002"
	if refused := a.handleReport(update, ""); refused.status != 500 {
		t.Errorf("the update is answered with %+v", refused)
	}
	var err error
	a.locked(func() {
		err = a.handleUnacknowledged(ex,
			&executor.Call_Subscribe{UnacknowledgedUpdates: []executor.Call_Update{{Status: finished}}})
	})
	if err == nil {
		t.Error("a subscription whose updates can't be recorded is accepted")
	}
	pass(time.Minute)
	if got := acknowledged(); len(got) > 0 || len(m.all()) > 0 {
		t.Errorf("acknowledged %q to the executor and reported %v to the master, with nothing recorded", got, m.all())
	}
	// The disk works again: the executor repeats the update.
	if ex.journal.file, err = os.OpenFile(ex.journal.path, os.O_WRONLY|os.O_APPEND, 0o600); err != nil {
		t.Fatal(err)
	}
	if refused := a.handleReport(update, ""); refused.status != 202 {
		t.Fatalf("the update is answered with %+v", refused)
	}
	pass(0)
	if diff := cmp.Diff([]string{string(finished.UUID)}, acknowledged()); diff != "" || len(m.all()) != 1 {
		t.Errorf("acknowledged (-want +got):\n%s; reported %v", diff, m.all())
	}
}

// An executor whose end was requested while it was being forked is killed as soon as it is known. Otherwise it and its
// tasks would run on although they were reported as killed.
func TestKillDuringForkIsNotLost(t *testing.T) {
	t.Parallel()
	b := startBench(t).ready()
	b.mu.Lock()
	ex, err := b.newExecutor(b.updateFramework(testFramework()), *testExecutorInfo("ex1"))
	if err == nil {
		one := b.newTask(ex, "ex1")
		one.info = b.task("ex1", "", nil)
		ex.cancel = func() {} // its launch no longer checks its context
		b.assign(ex, []*task{one})
	}
	b.mu.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	p, err := fork(program{path: "/bin/sleep", argv: []string{"sleep", "600"}}, dir, b.boot, newMark(), nil)
	if err != nil {
		t.Fatal(err)
	}
	w, err := watch(p)
	if err != nil {
		t.Fatal(err)
	}
	b.shutdownExecutor(ex.id)
	b.mu.Lock()
	b.executorForked(ex, w)
	close(ex.launched)
	b.mu.Unlock()
	eventually(t, "the end of the process", func() bool { return !alive(p.PID) })
}
