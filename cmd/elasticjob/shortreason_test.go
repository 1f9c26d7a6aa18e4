package main

import (
	"encoding/json"
	"testing"

	"github.com/elasticjob-go/elasticjob/client"
	"github.com/elasticjob-go/elasticjob/internal/reason"
)

// TestAShortReasonBeginsWithTheCause: the reason has a narrow column in run list, and the states of the shards have
// another column.
func TestAShortReasonBeginsWithTheCause(t *testing.T) {
	t.Parallel()
	const kept = "; its working directory is kept on the agent: /a/kept/1"
	of := func(text string) reason.Reason { return reason.ShardsFailed(1, 0, 3, 1, reason.FromText(text)) }
	for _, test := range []struct {
		why  reason.Reason
		want string
	}{
		{of("exit status 1" + kept + "; end of stderr:\njava.lang.IllegalStateException: no bills (BillingJob.java:9)\n" +
			"Caused by: java.net.ConnectException: Connection refused (BillingJob.java:17)\n"),
			"item 1: ConnectException: Connection refused (BillingJob.java:17)" + kept},
		{of("exit status 1; end of stderr:\nException in thread \"main\" java.lang.IllegalStateException: 北京\nbye"),
			"item 1: IllegalStateException: 北京"},
		{of("exit status 1; end of stderr:\nError: Could not find or load main class A\n" +
			"Caused by: java.lang.ClassNotFoundException: A"), "item 1: ClassNotFoundException: A"},
		{of("exit status 1; end of stderr:\n  ValueError (share.py:3)"), "item 1: ValueError (share.py:3)"},
		{of("exit status 3; end of stdout:\nbegun\nno luck\n"), "item 1: no luck"},
		{of("exit status 3; 1 process that it left running was ended: sh; end of stderr:\nno luck"),
			"item 1: no luck; 1 process that it left running was ended: sh"},
		{of("ended by signal 9 (killed) by the kernel's OOM killer; end of stderr:\nrow 7"),
			"item 1: ended by signal 9 (killed) by the kernel's OOM killer; row 7"},
		{of("exit status 3" + kept + "; it wrote nothing"), "item 1: exit status 3; it wrote nothing" + kept},
		{of(""), reason.ShardsFailed(1, 0, 3, 1, reason.Reason{}).String()},
		{reason.ShardsFailed(1, 0, 1, 0, reason.FromText("exit status 3; end of stderr:\nno luck")), "no luck"},
		{reason.ShardsKilled(1, 2, 0, reason.Of(reason.KilledOnRequest)), "item 0: killed on request"},
		{reason.Of(reason.KilledOnRequest), "killed on request"},
		{reason.Reason{}, ""},
	} {
		args, err := json.Marshal(test.why.Args())
		if err != nil {
			t.Fatal(err)
		}
		why := client.Why{Reason: test.why.String(), ReasonCode: string(test.why.Code())}
		if err := json.Unmarshal(args, &why.ReasonArgs); err != nil {
			t.Fatal(err)
		}
		if got := shortReason(why); got != test.want {
			t.Errorf("%s: got\n%s\nwant\n%s", test.why, got, test.want)
		}
	}
}

// TestAShortReasonOfALaterRelease checks that the server's text is shown if the cause has a code that this release does
// not know.
func TestAShortReasonOfALaterRelease(t *testing.T) {
	t.Parallel()
	why := client.Why{Reason: "shard 1 failed (1 of 3 shards did not finish): the moon was full", ReasonCode: "shards_failed",
		ReasonArgs: map[string]any{"item": "1", "shards": "3", "cause": map[string]any{"code": "moon_full"}}}
	if got := shortReason(why); got != why.Reason {
		t.Errorf("got %q", got)
	}
}
