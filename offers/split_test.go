package offers_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/elasticjob-go/elasticjob/internal/resources"
	"github.com/elasticjob-go/elasticjob/offers"
)

func TestTake(t *testing.T) {
	t.Parallel()
	part := func(key string, cpus, mem float64) offers.Reserved {
		return offers.Reserved{Key: key, Amount: resources.New(cpus, mem)}
	}
	for _, test := range []struct {
		name  string
		stock []offers.Offer
		needs []resources.Amount
		want  [][]offers.Reserved
	}{
		{"nothing is reserved", []offers.Offer{{Free: resources.New(4, 4096)}}, []resources.Amount{resources.New(1, 64)}, [][]offers.Reserved{nil}},
		{"reserved first, the rest unreserved", []offers.Offer{{Reserved: []offers.Reserved{part("r", 1, 100)}}},
			[]resources.Amount{resources.New(0.6, 64), resources.New(0.6, 64), resources.New(0.6, 64)},
			[][]offers.Reserved{{part("r", 0.6, 64)}, {part("r", 0.4, 36)}, nil}},
		{"CPU and memory independently", []offers.Offer{{Reserved: []offers.Reserved{part("cpus", 2, 0), part("mem", 0, 32)}}},
			[]resources.Amount{resources.New(1, 64)}, [][]offers.Reserved{{part("cpus", 1, 0), part("mem", 0, 32)}}},
		{"several reservations, and offers", []offers.Offer{{Reserved: []offers.Reserved{part("b", 1, 0)}}, {Reserved: []offers.Reserved{part("a", 1, 0), part("b", 1, 0)}}},
			[]resources.Amount{resources.New(2.5, 0)}, [][]offers.Reserved{{part("a", 1, 0), part("b", 1.5, 0)}}},
		{"to a thousandth", []offers.Offer{{Reserved: []offers.Reserved{part("r", 0.001, 0.001)}}},
			[]resources.Amount{resources.New(0.002, 0.002)}, [][]offers.Reserved{{part("r", 0.001, 0.001)}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			stock := offers.NewStock(test.stock)
			for i, need := range test.needs {
				if diff := cmp.Diff(test.want[i], stock.Take(need)); diff != "" {
					t.Errorf("need %d (-want +got):\n%s", i, diff)
				}
			}
		})
	}
}

// TestTakeIsExact checks that no unreserved amount is taken while a reserved one is left, that no amount is negative,
// that no reservation gives more than it has, and that the order of the offers makes no difference.
func TestTakeIsExact(t *testing.T) {
	t.Parallel()
	amount := rapid.Custom(func(t *rapid.T) resources.Amount {
		return resources.Amount{CPUMilli: rapid.Int64Range(0, 4000).Draw(t, "cpu"),
			MemMilli: rapid.Int64Range(0, 4000).Draw(t, "mem")}
	})
	rapid.Check(t, func(t *rapid.T) {
		left, total := map[string]resources.Amount{}, resources.Amount{}
		var all []offers.Offer
		for i := range rapid.IntRange(0, 3).Draw(t, "offers") {
			o := offers.Offer{ID: fmt.Sprint(i), Free: amount.Draw(t, "unreserved")}
			for k := range rapid.IntRange(0, 3).Draw(t, "reservations") {
				r := offers.Reserved{Key: fmt.Sprint("r", k), Amount: amount.Draw(t, "reserved")}
				o.Reserved, o.Free = append(o.Reserved, r), o.Free.Plus(r.Amount)
				left[r.Key] = left[r.Key].Plus(r.Amount)
			}
			all, total = append(all, o), total.Plus(o.Free)
		}
		reserved := resources.Amount{}
		for _, a := range left {
			reserved = reserved.Plus(a)
		}
		unreserved := total.Minus(reserved)
		backwards := make([]offers.Offer, 0, len(all))
		for i := range all {
			backwards = append(backwards, all[len(all)-1-i])
		}
		stock, reversed := offers.NewStock(all), offers.NewStock(backwards)
		for range rapid.IntRange(1, 8).Draw(t, "needs") {
			need := amount.Draw(t, "need")
			if !need.Fits(total) {
				continue
			}
			total = total.Minus(need)
			parts := stock.Take(need)
			if diff := cmp.Diff(parts, reversed.Take(need)); diff != "" {
				t.Fatalf("the order of offers makes a difference:\n%s", diff)
			}
			rest, last := need, ""
			for _, p := range parts {
				if p.Amount.CPUMilli < 0 || p.Amount.MemMilli < 0 || p.Amount.IsZero() ||
					!p.Amount.Fits(left[p.Key]) || p.Key <= last {
					t.Fatalf("took %+v, with %+v left of %v", parts, left[p.Key], left)
				}
				left[p.Key], reserved, rest, last = left[p.Key].Minus(p.Amount), reserved.Minus(p.Amount),
					rest.Minus(p.Amount), p.Key
			}
			if rest.CPUMilli < 0 || rest.MemMilli < 0 || !rest.Fits(unreserved) {
				t.Fatalf("need %v: %+v leaves %v to be unreserved, and %v unreserved is left", need, parts, rest,
					unreserved)
			}
			if rest.CPUMilli > 0 && reserved.CPUMilli > 0 || rest.MemMilli > 0 && reserved.MemMilli > 0 {
				t.Fatalf("%v unreserved is taken, with %v reserved left", rest, reserved)
			}
			unreserved = unreserved.Minus(rest)
		}
	})
}
