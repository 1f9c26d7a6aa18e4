package zookeeper_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"go.uber.org/goleak"

	"github.com/elasticjob-go/elasticjob/registry"
	"github.com/elasticjob-go/elasticjob/registry/registrytest"
	"github.com/elasticjob-go/elasticjob/registry/zookeeper"
	"github.com/elasticjob-go/elasticjob/test/zkserver"
)

func TestMain(m *testing.M) {
	// A random operation takes milliseconds here, so run fewer of them.
	flag.Parse()
	if err := flag.Set("rapid.checks", "15"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

// eventTimeout is how long a test waits for an expected event.
const eventTimeout = 30 * time.Second

// longSession is a session timeout that no test waits for: on a busy machine a server may take seconds to answer.
const longSession = 40 * time.Second

var namespaces atomic.Int64

// namespace returns a namespace that no other test of this process uses.
func namespace() string { return fmt.Sprintf("tests/n%d", namespaces.Add(1)) }

func logger() *slog.Logger {
	if os.Getenv("ZK_TEST_LOG") == "" {
		return slog.New(slog.DiscardHandler)
	}
	return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

func open(t testing.TB, o zookeeper.Options) *zookeeper.Registry {
	t.Helper()
	if o.SessionTimeout == 0 {
		o.SessionTimeout = longSession
	}
	if o.Logger == nil {
		o.Logger = logger()
	}
	r, err := zookeeper.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return r
}

func campaign(t testing.TB, r registry.Registry, who string) registry.Term {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), eventTimeout)
	defer cancel()
	term, err := r.Campaign(ctx, who)
	if err != nil {
		t.Fatalf("campaign: %v", err)
	}
	return term
}

func lead(t testing.TB, o zookeeper.Options) (*zookeeper.Registry, registry.Term) {
	t.Helper()
	r := open(t, o)
	return r, campaign(t, r, "127.0.0.1:8899")
}

// eventually waits until the condition holds.
func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	poll := time.NewTicker(5 * time.Millisecond)
	defer poll.Stop()
	deadline := time.After(eventTimeout)
	for !holds() {
		select {
		case <-deadline:
			t.Fatalf("%s: not within %v", what, eventTimeout)
		case <-poll.C:
		}
	}
}

// dropCandidates deletes all election nodes of a namespace, as ZooKeeper does when a session expires.
func dropCandidates(t testing.TB, client *zk.Conn, namespace string) {
	t.Helper()
	folder := "/" + namespace + "/ha/election"
	names, _, err := client.Children(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if err := client.Delete(folder+"/"+name, -1); err != nil && !errors.Is(err, zk.ErrNoNode) {
			t.Fatal(err)
		}
	}
}

// TestOneServer groups the tests that need only a namespace of one server, because a JVM takes longer to start than
// they run.
func TestOneServer(t *testing.T) {
	t.Parallel()
	server := zkserver.Start(t, "maxSessionTimeout=60000")
	for name, test := range map[string]func(*testing.T, *zkserver.Server){
		"CommitFaults":                                testCommitFaults,
		"DeposedLeaderWritesNothing":                  testDeposedLeaderWritesNothing,
		"LostConnectionEndsNoTerm":                    testLostConnectionEndsNoTerm,
		"ResignHandsOverAtOnce":                       testResignHandsOverAtOnce,
		"OriginalsNodesAreEntriesAndItsFoldersAreNot": testOriginalsNodesAreEntriesAndItsFoldersAreNot,
		"HandEditsAreReportedAndHealed":               testHandEditsAreReportedAndHealed,
		"OriginalThatLeadsKeepsUsWaiting":             testOriginalThatLeadsKeepsUsWaiting,
		"DigestProtectsAllNodes":                      testDigestProtectsAllNodes,
		"WhatMayNotBeReadIsOneEntry":                  testWhatMayNotBeReadIsOneEntry,
		"FolderThatMayNotBeListedHindersNoOther":      testFolderThatMayNotBeListedHindersNoOther,
		"TermNumbersThatGoBack":                       testTermNumbersThatGoBack,
		"ChrootThatIsGoneForAMoment":                  testChrootThatIsGoneForAMoment,
		"PathsThatAreTooLong":                         testPathsThatAreTooLong,
		"SlowLink":                                    testSlowLink,
		"ConnectionsThatBreakInLargeAnswers":          testConnectionsThatBreakInLargeAnswers,
		"LateAnswersLengthenNoTerm":                   testLateAnswersLengthenNoTerm,
		"Chroot":                                      testChroot,
		"FollowerThatIsRefused":                       testFollowerThatIsRefused,
		"NamedCommitWithoutItsParts":                  testNamedCommitWithoutItsParts,
		"LargeCommits":                                testLargeCommits,
		"EditsInALargeCommit":                         testEditsInALargeCommit,
		"StandbyIsKnown":                              testStandbyIsKnown,
		"Suite":                                       testSuite,
		"SharedValueWithoutAnAnswer":                  testSharedValueWithoutAnAnswer,
		"SharedValueWithoutZooKeeper":                 testSharedValueWithoutZooKeeper,
		"SharedValueIsProtected":                      testSharedValueIsProtected,
		"SharedValueIsProtectedLater":                 testSharedValueIsProtectedLater,
		"EndsOfTerms":                                 testEndsOfTerms,
		"ReadsEndWithTheSession":                      testReadsEndWithTheSession,
		"CandidateWithoutItsNodeDeposesNobody":        testCandidateWithoutItsNodeDeposesNobody,
		"BackupAndRestore":                            testBackupAndRestore,
		"BackupIsOfOneMoment":                         testBackupIsOfOneMoment,
		"BackupOfHalfACommit":                         testBackupOfHalfACommit,
		"RestoreBesideAServer":                        testRestoreBesideAServer,
	} {
		t.Run(name, func(t *testing.T) { test(t, server) })
	}
}

func testStandbyIsKnown(t *testing.T, server *zkserver.Server) {
	t.Parallel()
	o := zookeeper.Options{Servers: server.Address(), Namespace: namespace()}
	_, term := lead(t, o)
	leader := term.(interface{ Standby(context.Context) bool })
	if leader.Standby(t.Context()) {
		t.Error("a standby is reported, and there is none")
	}
	next := open(t, o)
	led := make(chan error, 1)
	go func() {
		_, err := next.Campaign(t.Context(), "127.0.0.1:9988")
		led <- err
	}()
	eventually(t, "the next candidate", func() bool { return leader.Standby(t.Context()) })
	if err := term.Resign(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-led; err != nil {
		t.Fatal(err)
	}
	if leader.Standby(t.Context()) {
		t.Error("reported after the term's end")
	}
}

func testSuite(t *testing.T, server *zkserver.Server) {
	t.Parallel()
	client := server.Client(t)
	registrytest.Run(t, func(t *testing.T) registrytest.Store {
		o := zookeeper.Options{Servers: server.Address(), Namespace: namespace()}
		return registrytest.Store{
			Open: func(t *testing.T) registry.Registry {
				o.Logger, o.SessionTimeout = logger(), longSession
				r, err := zookeeper.Open(o)
				if err != nil {
					t.Fatal(err)
				}
				return r
			},
			Depose: func(t *testing.T, _ registry.Registry) registry.Term {
				other := open(t, o)
				dropCandidates(t, client, o.Namespace)
				return campaign(t, other, "127.0.0.1:9988")
			},
			Cut: func(t *testing.T) (registry.Registry, func(int, bool) <-chan struct{}) {
				cable := newCable()
				with := o
				with.Dial = cable.dial
				return open(t, with), func(n int, arrives bool) <-chan struct{} {
					return cable.cutAt(t, client, server.Address(), "/"+o.Namespace, n, arrives)
				}
			},
		}
	})
}

// entryNode returns the node of an entry outside the original's layout.
func entryNode(namespace, path string) string {
	return "/" + namespace + "/registry/entries/" + strings.ReplaceAll(path[1:], "/", "~1")
}

func put(path, value string) registry.Write {
	return registry.Write{Path: path, Value: []byte(value)}
}

func commit(t testing.TB, term registry.Term, writes ...registry.Write) {
	t.Helper()
	if err := term.Commit(t.Context(), writes); err != nil {
		t.Fatalf("commit: %v", err)
	}
}

func paths(t testing.TB, term registry.Term, below string) string {
	t.Helper()
	found, err := term.List(t.Context(), below)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, e := range found {
		all = append(all, e.Path)
	}
	return strings.Join(all, " ")
}
