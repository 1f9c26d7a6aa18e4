package api_test

import (
	"fmt"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/elasticjob-go/elasticjob/api"
	"github.com/elasticjob-go/elasticjob/auth"
)

// TestEveryRouteHasARule: a route without a rule admits no caller, and is a mistake.
func TestEveryRouteHasARule(t *testing.T) {
	t.Parallel()
	routes := api.New(api.Options{Scheduler: newFakeScheduler(), Access: noUsers{}}).Routes()
	if len(routes) < 60 {
		t.Fatalf("the router has %d routes", len(routes))
	}
	for _, r := range routes {
		if !r.Complete {
			t.Errorf("%s %s does not say who may call it: give its row in api/routes.go a rule", r.Method, r.Path)
		}
	}
	if api.EmptyRuleLetsIn(auth.Principal{Kind: auth.User, Grant: auth.Grant{Role: auth.Admin}}) {
		t.Error("a route without a rule lets an admin in")
	}
}

// TestDocsNameEveryRule: docs/security.md lists each route under the callers who may use it, as the router has it.
func TestDocsNameEveryRule(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]string{}
	route := regexp.MustCompile("`((?:GET|POST|PUT|DELETE) /[^`]*)`")
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if len(cells) < 2 {
			continue
		}
		for _, found := range route.FindAllStringSubmatch(cells[1], -1) {
			if documented[found[1]] != "" {
				t.Errorf("docs/security.md has %s twice", found[1])
			}
			documented[found[1]] = strings.TrimSpace(cells[0])
		}
	}
	rows := map[string][]string{}
	for _, r := range api.New(api.Options{Scheduler: newFakeScheduler(), Access: noUsers{}}).Routes() {
		if r.Method == http.MethodHead {
			continue
		}
		name := r.Method + " " + r.Path
		rows[r.Who] = append(rows[r.Who], "`"+name+"`")
		if documented[name] != r.Who {
			t.Errorf("docs/security.md says of %s %q, the router %q", name, documented[name], r.Who)
		}
		delete(documented, name)
	}
	for name := range documented {
		t.Errorf("docs/security.md has %s, the router has not", name)
	}
	if t.Failed() {
		for who, names := range rows {
			slices.Sort(names)
			t.Logf("| %s | %s |", who, strings.Join(names, ", "))
		}
	}
}

// TestEveryRouteAsksWhoItIs walks the router. It calls every route without a token, with a wrong token, and in every
// role for all apps, for the app in question and for other apps.
func TestEveryRouteAsksWhoItIs(t *testing.T) {
	t.Parallel()
	access := realAccess(t, auth.Options{})
	b := newFakeScheduler()
	server := start(t, api.Options{Scheduler: b, Access: access, History: &fakeHistory{}})
	b.add("my_app", "my_job")
	type asker struct {
		name, token string
		role        auth.Role
		apps        []string
	}
	askers := []asker{{name: "nobody"}, {name: "a wrong token",
		token: "ejt_0123456789abcdef_" + strings.Repeat("0", 64)}, {name: "a former token",
		token: token(t, access, "former", auth.Admin)}}
	if err := access.RemoveToken(t.Context(), callerOfTests, "former"); err != nil {
		t.Fatal(err)
	}
	for _, role := range []auth.Role{auth.Metrics, auth.Viewer, auth.Operator, auth.Admin} {
		for i, apps := range [][]string{nil, {"my_*"}, {"other-*"}} {
			if role == auth.Metrics && apps != nil {
				continue
			}
			name := fmt.Sprintf("%s-%d", role, i)
			askers = append(askers, asker{name, token(t, access, name, role, apps...), role, apps})
		}
	}
	values := strings.NewReplacer("{appName}", "my_app", "{jobName}", "my_job", "{taskId}",
		"my_job@-@0@-@READY@-@S0@-@0f8e", "{executionId}", "exec-1",
		"{period}", "online", "{name}", "none", "{userName}", "nobody", "{tokenName}", "none")
	for _, r := range api.New(api.Options{Scheduler: b, Access: access}).Routes() {
		for _, a := range askers {
			want := 0 // admitted
			switch {
			case r.Who == "everybody":
			case a.role == auth.NoRole:
				want = http.StatusUnauthorized
			// Any user or token is admitted, but only admins may set the password of another user.
			case r.Who == "any user or token" && !strings.HasSuffix(r.Path, "/password"):
			case a.role < r.Needs, strings.HasSuffix(r.Who, "for all apps") && a.apps != nil,
				strings.HasSuffix(r.Path, "/password") && (a.role < auth.Admin || a.apps != nil):
				want = http.StatusForbidden
			}
			if want == 0 && r.Method != http.MethodGet && r.Method != http.MethodHead && r.Who != "everybody" &&
				(a.apps == nil || a.apps[0] == "my_*") {
				continue // it would be carried out; other tests do that
			}
			var headers []string
			if a.token != "" {
				headers = []string{"Authorization: Bearer " + a.token}
			}
			before := b.changed()
			answer, text := call(t, server, r.Method, values.Replace(r.Path), "", headers...)
			got := answer.StatusCode
			if got != http.StatusUnauthorized && got != http.StatusForbidden {
				got = 0
			}
			searches := strings.Contains(r.Path, "/events/") &&
				a.apps != nil // they must name a job, and this test names none
			if got != want && !(searches && got == http.StatusForbidden) || b.changed() != before {
				t.Errorf("%s %s asked by %s: %d %s", r.Method, r.Path, a.name, answer.StatusCode, text)
			}
			if a.apps != nil && a.apps[0] == "other-*" &&
				(strings.Contains(text, "my_app") || strings.Contains(text, "my_job")) &&
				answer.StatusCode == http.StatusOK && r.Path != "/" &&
				r.Path != "/api/openapi.json" { // which has examples
				t.Errorf("%s %s tells %s: %s", r.Method, r.Path, a.name, text)
			}
			for name, value := range map[string]string{"X-Content-Type-Options": "nosniff",
				"Referrer-Policy": "no-referrer", "Cross-Origin-Opener-Policy": "same-origin",
				"Cross-Origin-Resource-Policy": "same-origin"} {
				if answer.Header.Get(name) != value {
					t.Errorf("%s %s: %s is %q", r.Method, r.Path, name, answer.Header.Get(name))
				}
			}
			if policy := answer.Header.Get("Content-Security-Policy"); !strings.Contains(policy,
				"frame-ancestors 'none'") || strings.Contains(policy, "unsafe") {
				t.Errorf("%s %s: Content-Security-Policy %q", r.Method, r.Path, policy)
			}
		}
	}
}
