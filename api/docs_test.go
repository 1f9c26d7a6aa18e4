package api_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/elasticjob-go/elasticjob/api"
)

// TestDocsNameEveryRoute, and no other, and all reserved names.
func TestDocsNameEveryRoute(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../docs/api.md")
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile("`((?:GET|POST|PUT|DELETE) /[^`?]*)`").FindAllStringSubmatch(string(text), -1)
	var documented []string
	for _, n := range named {
		documented = append(documented, n[1])
		if !slices.Contains(api.RouteNames(), n[1]) {
			t.Errorf("docs/api.md has %s, the router has not", n[1])
		}
	}
	for _, route := range api.RouteNames() {
		if !slices.Contains(documented, route) {
			t.Errorf("docs/api.md lacks %s", route)
		}
	}
	for _, name := range slices.Concat(api.ReservedAppNames(), api.ReservedJobNames()) {
		if !strings.Contains(string(text), "`"+name+"`") {
			t.Errorf("docs/api.md lacks the reserved name %s", name)
		}
	}
}
