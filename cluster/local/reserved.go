package local

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/elasticjob-go/elasticjob/cluster/local/agent"
)

// reservedPart is one part of what ParseReserved reads.
var reservedPart = regexp.MustCompile(`^(cpus|mem)\(([^()*\s/][^()\s]*)\):([0-9]+(?:\.[0-9]{1,3})?)$`)

// ParseReserved reads statically reserved resources as a Mesos agent's --resources has them: "cpus(role):2;mem(role):1024",
// in CPUs and MB, to a thousandth. Reservations come in the order of roles; "" has none.
func ParseReserved(text string) ([]agent.Reservation, error) {
	byRole := map[string]*agent.Reservation{}
	for part := range strings.SplitSeq(text, ";") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		m := reservedPart.FindStringSubmatch(part)
		if m == nil {
			return nil, fmt.Errorf("read %q: want cpus(ROLE):NUMBER or mem(ROLE):NUMBER, separated by semicolons", part)
		}
		amount, err := strconv.ParseFloat(m[3], 64)
		if err != nil || !(amount > 0 && amount <= 1e9) {
			return nil, fmt.Errorf("read %q: want an amount from 0.001 to 1,000,000,000", part)
		}
		r := byRole[m[2]]
		if r == nil {
			r = &agent.Reservation{Role: m[2]}
			byRole[m[2]] = r
		}
		if m[1] == "cpus" {
			r.CPUs += amount
		} else {
			r.MemMB += amount
		}
	}
	out := make([]agent.Reservation, 0, len(byRole))
	for _, r := range byRole {
		out = append(out, *r)
	}
	slices.SortFunc(out, func(a, b agent.Reservation) int { return strings.Compare(a.Role, b.Role) })
	return out, nil
}
