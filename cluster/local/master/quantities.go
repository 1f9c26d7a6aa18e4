package master

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/mesos/mesos-go/api/v1/lib"
)

// quantities are amounts of resources, in the order in which they are told.
// Scalars are exact in thousandths, as in Mesos. Values are never changed in place.
type quantities []amount

type amount struct {
	name string
	// role is that of a reservation; "*" is nobody's. Only equal roles match, and only equal dynamic reservations.
	role string
	// dynamic is a dynamic reservation's Resource.reservation, encoded behind dynamicMark; "" for a static one and
	// for what is unreserved.
	dynamic string
	kind    mesos.Value_Type
	milli   int64
	ranges  []span
}

type span struct{ begin, end uint64 }

func milli(v float64) int64 { return int64(math.Round(v * 1000)) }

// parse reads resources as they are sent, and adds up what has one name.
func parse(resources []mesos.Resource) quantities {
	q := make(quantities, 0, len(resources))
	for i := range resources {
		r := &resources[i]
		a := amount{name: r.Name, role: r.GetRole(), kind: r.GetType()}
		switch {
		case r.Revocable != nil, r.Shared != nil, r.Disk != nil, len(r.Reservations) > 1:
			// Nothing of the kind is ever offered, so it must match nothing.
			a.role += " (special)"
		case len(r.Reservations) == 1: // the form of newer frameworks, and of operators
			a.role, a.dynamic = refined(&r.Reservations[0])
		case r.Reservation != nil:
			a.dynamic = dynamicMark + encodeReservation(r.Reservation)
		}
		switch a.kind {
		case mesos.SCALAR:
			a.milli = milli(r.GetScalar().GetValue())
		case mesos.RANGES:
			for _, s := range r.GetRanges().GetRange() {
				a.ranges = append(a.ranges, span{s.Begin, s.End})
			}
			a.ranges = normalised(a.ranges)
		}
		q = q.plusOne(a)
	}
	return q
}

func (q quantities) index(a *amount) int {
	for i := range q {
		if q[i].name == a.name && q[i].role == a.role && q[i].dynamic == a.dynamic && q[i].kind == a.kind {
			return i
		}
	}
	return -1
}

// plusOne may write into q's free capacity: for building only.
func (q quantities) plusOne(a amount) quantities {
	i := q.index(&a)
	if i < 0 {
		return append(q, a)
	}
	q[i].milli += a.milli
	q[i].ranges = normalised(slices.Concat(q[i].ranges, a.ranges))
	return q
}

func (q quantities) plus(other quantities) quantities {
	sum := make(quantities, len(q), len(q)+len(other))
	copy(sum, q)
	for _, a := range other {
		sum = sum.plusOne(a)
	}
	return sum
}

// minus takes away what q has of other; nothing falls below zero.
func (q quantities) minus(other quantities) quantities {
	rest := make(quantities, 0, len(q))
	for _, a := range q {
		if i := other.index(&a); i >= 0 {
			a.milli = max(0, a.milli-other[i].milli)
			a.ranges = without(a.ranges, other[i].ranges)
		}
		if a.milli > 0 || len(a.ranges) > 0 {
			rest = append(rest, a)
		}
	}
	return rest
}

func (q quantities) contains(other quantities) bool {
	for _, a := range other {
		i := q.index(&a)
		if i < 0 || q[i].milli < a.milli || len(without(a.ranges, q[i].ranges)) > 0 || a.kind == mesos.SET {
			return false
		}
	}
	return true
}

// scalar is all that q has of a name, reserved or not.
func (q quantities) scalar(name string) int64 {
	var sum int64
	for i := range q {
		if q[i].name == name {
			sum += q[i].milli
		}
	}
	return sum
}

// offered puts q into the order of Mesos' offers: ranges, then cpus, mem, disk.
func (q quantities) offered() quantities {
	rank := func(a amount) int {
		if a.kind != mesos.SCALAR {
			return 0
		}
		if i := slices.Index([]string{"cpus", "mem", "disk"}, a.name); i >= 0 {
			return 1 + i
		}
		return 4
	}
	sorted := slices.Clone(q)
	slices.SortStableFunc(sorted, func(a, b amount) int { return cmp.Compare(rank(a), rank(b)) })
	return sorted
}

// proto writes q as an offer has it; a role is given to frameworks that can have several.
func (q quantities) proto(allocated *mesos.Resource_AllocationInfo) []mesos.Resource {
	resources := make([]mesos.Resource, 0, len(q))
	for _, a := range q {
		r := mesos.Resource{Name: a.name, Type: a.kind.Enum(), Role: &a.role, AllocationInfo: allocated}
		if a.kind == mesos.SCALAR {
			r.Reservation = decodeReservation(a.dynamic)
			r.Scalar = &mesos.Value_Scalar{Value: float64(a.milli) / 1000}
		} else {
			r.Ranges = &mesos.Value_Ranges{}
			for _, s := range a.ranges {
				r.Ranges.Range = append(r.Ranges.Range, mesos.Value_Range{Begin: s.begin, End: s.end})
			}
		}
		resources = append(resources, r)
	}
	return resources
}

// text writes q as Mesos does when it is allocated to a role, or to none if that is "".
func (q quantities) text(role string) string {
	if role != "" {
		role = "(allocated: " + role + ")"
	}
	parts := make([]string, 0, len(q))
	for _, a := range q {
		reserved := ""
		if a.role != "*" {
			reserved = "(reservations: [(" + a.reservation() + ")])"
		}
		parts = append(parts, a.name+role+reserved+":"+a.value())
	}
	if len(parts) == 0 {
		return "{}"
	}
	return strings.Join(parts, "; ")
}

func (a *amount) value() string {
	if a.kind == mesos.SCALAR {
		return strconv.FormatFloat(float64(a.milli)/1000, 'f', -1, 64)
	}
	spans := make([]string, 0, len(a.ranges))
	for _, s := range a.ranges {
		spans = append(spans, strconv.FormatUint(s.begin, 10)+"-"+strconv.FormatUint(s.end, 10))
	}
	return "[" + strings.Join(spans, ", ") + "]"
}

// normalised sorts spans and joins those that touch.
func normalised(spans []span) []span {
	if len(spans) < 2 {
		return spans
	}
	sorted := slices.Clone(spans)
	slices.SortFunc(sorted, func(a, b span) int { return cmp.Compare(a.begin, b.begin) })
	joined := sorted[:1]
	for _, s := range sorted[1:] {
		last := &joined[len(joined)-1]
		if s.begin > last.end && s.begin-last.end > 1 {
			joined = append(joined, s)
			continue
		}
		last.end = max(last.end, s.end)
	}
	return joined
}

// without is what of spans is not in gone; both normalised.
func without(spans, gone []span) []span {
	if len(gone) == 0 {
		return spans
	}
	var rest []span
	for _, s := range spans {
		whole := true
		for _, g := range gone {
			if g.end < s.begin || g.begin > s.end {
				continue
			}
			if g.begin > s.begin {
				rest = append(rest, span{s.begin, g.begin - 1})
			}
			if g.end >= s.end {
				whole = false
				break
			}
			s.begin = g.end + 1
		}
		if whole {
			rest = append(rest, s)
		}
	}
	return rest
}
