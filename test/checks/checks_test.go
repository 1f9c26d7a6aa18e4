package main

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// output is the output of go test -json for a run in which one test passes, one is skipped, one fails, and a package
// does not compile. MODULE stands for the path of the module.
const output = `{"ImportPath":"MODULE/jobs","Action":"build-output","Output":"jobs/job.go:1: no\n"}
{"ImportPath":"MODULE/jobs","Action":"build-fail"}
{"Action":"fail","Package":"MODULE/jobs","FailedBuild":"MODULE/jobs"}
go: something else
{"Action":"run","Package":"MODULE/app","Test":"TestA"}
{"Action":"pass","Package":"MODULE/app","Test":"TestA"}
{"Action":"output","Package":"MODULE/app","Test":"TestB","Output":"needs root\n"}
{"Action":"skip","Package":"MODULE/app","Test":"TestB"}
{"Action":"output","Package":"MODULE/app","Test":"TestC/one","Output":"got 1\n"}
{"Action":"fail","Package":"MODULE/app","Test":"TestC/one"}
{"Action":"fail","Package":"MODULE/app","Test":"TestC"}
{"Action":"fail","Package":"MODULE/app"}
{"Action":"output","Package":"MODULE/auth","Output":"ok  \tauth\t0.1s\n"}
{"Action":"pass","Package":"MODULE/auth"}
`

func TestEventsAreRead(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		of     goTest
		failed []string
	}{
		"a skipped test is allowed": {goTest{}, []string{"./jobs ", "./app TestC/one", "./app TestC"}},
		"a skipped test counts as failed": {goTest{noSkip: true}, []string{
			"./jobs ", "./app TestB", "./app TestC/one", "./app TestC",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var lines strings.Builder
			from := strings.NewReader(strings.ReplaceAll(output, "MODULE", module))
			failures, passed, err := tc.of.readEvents(from, func(text string) { lines.WriteString(text + "\n") })
			if err != nil || passed != 1 {
				t.Errorf("%d passed, %v", passed, err)
			}
			var got []string
			for _, f := range failures {
				got = append(got, f.Package+" "+f.Test)
			}
			if !slices.Equal(got, tc.failed) {
				t.Errorf("failed: %q, want %q", got, tc.failed)
			}
			for _, want := range []string{"jobs/job.go:1: no", "go: something else", "got 1", "ok  \tauth"} {
				if !strings.Contains(lines.String(), want) {
					t.Errorf("no %q in %s", want, lines.String())
				}
			}
		})
	}
}

func TestAFailureIsRepeatedAlone(t *testing.T) {
	t.Parallel()
	g := goTest{packages: []string{"./app", "./jobs"}, skip: "^TestOn"}
	g.race, g.tags, g.args = true, "nightly", []string{"-x.y=1"}
	want := "CGO_ENABLED=1 go test -trimpath -vet=off -tags nomsgpack,nightly -timeout 20m -race -count=1" +
		" -run '^TestC$/^one$' ./app -x.y=1"
	if got := g.repeat(failure{Package: "./app", Test: "TestC/one"}); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	g = goTest{packages: []string{"./..."}, in: "test/conformance"}
	want = "CGO_ENABLED=0 go -C test/conformance test -trimpath -vet=off -tags nomsgpack -timeout 20m -count=1" +
		" -run '^TestD$' "
	for pkg, relative := range map[string]string{"./test/conformance": ".", "./test/conformance/part": "./part"} {
		if got := g.repeat(failure{Package: pkg, Test: "TestD"}); got != want+relative {
			t.Errorf("%s, want %s%s", got, want, relative)
		}
	}
}

func TestAFailedSubtestIsReportedAlone(t *testing.T) {
	t.Parallel()
	inner, other, whole := failure{Package: "a", Test: "T/x/y"}, failure{Package: "b", Test: "T"},
		failure{Package: "b"}
	got := innermost([]failure{inner, {Package: "a", Test: "T/x"}, {Package: "a", Test: "T"}, other, whole})
	if want := []failure{inner, other, whole}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestPhasesThatMayRunTogether(t *testing.T) {
	t.Parallel()
	computes, waits, alone := phase{name: "c"}, phase{name: "w", waits: true}, phase{name: "a", alone: true}
	ended := func(o outcome) map[string]result { return map[string]result{"built": {Outcome: o}} }
	needs, after := phase{name: "n", needs: []string{"built"}}, phase{name: "e", after: []string{"built"}}
	for name, tc := range map[string]struct {
		of      phase
		running []phase
		done    map[string]result
		want    bool
	}{
		"the first":                        {of: computes, want: true},
		"computes beside one that does":    {of: computes, running: []phase{computes}},
		"waits beside one that computes":   {of: waits, running: []phase{computes}, want: true},
		"waits beside one that waits":      {of: waits, running: []phase{waits}, want: true},
		"too many":                         {of: waits, running: []phase{waits, computes}},
		"computes beside one that waits":   {of: computes, running: []phase{waits}, want: true},
		"must be alone beside another":     {of: alone, running: []phase{waits}},
		"beside one that must be alone":    {of: waits, running: []phase{alone}},
		"needs a phase that has not ended": {of: needs},
		"needs a phase that has passed":    {of: needs, done: ended(passed), want: true},
		"after a phase that has failed":    {of: after, done: ended(failed), want: true},
		"after a phase that still runs":    {of: after, running: []phase{{name: "built", waits: true}}},
		"must be alone and is":             {of: alone, want: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			running := map[string]phase{}
			for i, p := range tc.running {
				running[p.name+strings.Repeat("'", i)] = p
			}
			r := &runner{results: tc.done, chosen: []phase{{name: "built"}, tc.of}}
			if got := r.canStart(tc.of, running); got != tc.want {
				t.Errorf("%v, want %v", got, tc.want)
			}
		})
	}
}

func TestNamedPhasesComeWithTheirNeeds(t *testing.T) {
	t.Parallel()
	all := []phase{{name: "a"}, {name: "b", needs: []string{"a"}}, {name: "c"}, {name: "d", needs: []string{"b"}}}
	chosen, err := choose(all, []string{"d"})
	var names []string
	for _, p := range chosen {
		names = append(names, p.name)
	}
	if err != nil || !slices.Equal(names, []string{"a", "b", "d"}) {
		t.Errorf("%v, %v", names, err)
	}
	if _, err := choose(all, []string{"e"}); err == nil {
		t.Error("a phase that is not there was chosen")
	}
}

// TestKeptResultsAreTakenOver: nightly continues where it was interrupted, and phases that were run one by one appear
// in one report.
func TestKeptResultsAreTakenOver(t *testing.T) {
	t.Parallel()
	all := []phase{{name: "built"}, {name: "good", needs: []string{"built"}}, {name: "bad"}, {name: "new"}}
	results := map[string]result{"built": {Outcome: passed}, "good": {Outcome: passed}, "bad": {Outcome: failed}}
	for name, tc := range map[string]struct {
		commit string
		named  []string
		chosen []phase
		taken  []string // the phases whose results are reused; other chosen phases run
	}{
		"all of the same commit":           {"c1", nil, all, []string{"good"}},
		"of another commit":                {"c2", nil, all, nil},
		"with changes that have no commit": {"c1-dirty", nil, all, nil},
		"one that has passed":              {"c1", []string{"good"}, all[:2], []string{"bad"}},
		"one that is new":                  {"c1", []string{"new"}, all[3:], []string{"bad", "built", "good"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := &runner{all: all, chosen: tc.chosen, commit: tc.commit, results: map[string]result{}}
			r.takeOver(kept{strings.Replace(tc.commit, "c2", "c1", 1), results}, tc.named)
			if got := slices.Sorted(maps.Keys(r.results)); !slices.Equal(got, tc.taken) {
				t.Errorf("%v are taken over, want %v", got, tc.taken)
			}
		})
	}
}
