package master

import (
	"fmt"
	"math"

	mesos "github.com/mesos/mesos-go/api/v1/lib"
)

// resourceNames are the kinds of resources that local agents have.
var resourceNames = [...]string{"cpus", "mem", "disk"}

// These are the indexes of the kinds in resourceNames.
const cpus, mem, disk = 0, 1, 2

// resources are amounts in thousandths, Mesos' own precision, in the order of resourceNames. They are always
// unreserved and unshared.
type resources [len(resourceNames)]int64

func milli(v float64) int64 { return int64(math.Round(v * 1000)) }

// parse sums resources in protobuf form. fault, in Mesos' wording, names the first resource that is invalid or that no
// agent here offers.
func parse(sent []mesos.Resource) (sum resources, fault string) {
	for i := range sent {
		r := &sent[i]
		value := r.GetScalar().GetValue()
		problem := "it is not offered"
		for i, name := range resourceNames {
			// A double represents thousandths exactly only up to this limit.
			tooLarge := value > 1e12
			switch {
			case r.Name != name || !isPlain(r):
			case math.IsNaN(value) || tooLarge || milli(value) <= 0:
				problem = "Invalid scalar resource: value <= 0, or too large"
			default:
				problem = ""
				sum[i] += milli(value)
			}
		}
		if problem != "" {
			return sum, fmt.Sprintf("Resource '%s:%v' is invalid: %s", r.Name, value, problem)
		}
	}
	return sum, ""
}

// isPlain reports whether a resource is a scalar that is neither reserved, shared nor revocable, and no disk of its
// own.
func isPlain(r *mesos.Resource) bool {
	return r.GetType() == mesos.SCALAR && r.Revocable == nil && r.Shared == nil && r.Disk == nil &&
		(r.GetRole() == "" || r.GetRole() == "*") && r.Reservation == nil && len(r.Reservations) == 0
}

// amount sums resources that are known to be valid, because they belong to an agent or to a launched task or executor.
func amount(valid []mesos.Resource) resources {
	sum, _ := parse(valid)
	return sum
}

func (r resources) plus(other resources) resources {
	for i := range r {
		r[i] += other[i]
	}
	return r
}

// minus subtracts other; no amount falls below zero.
func (r resources) minus(other resources) resources {
	for i := range r {
		r[i] = max(0, r[i]-other[i])
	}
	return r
}

// contains reports whether r is at least other in every kind.
func (r resources) contains(other resources) bool {
	for i := range r {
		if r[i] < other[i] {
			return false
		}
	}
	return true
}

// proto returns r in the form of an offer.
func (r resources) proto() []mesos.Resource {
	role := "*"
	var out []mesos.Resource
	for i, name := range resourceNames {
		if r[i] > 0 {
			out = append(out, mesos.Resource{Name: name, Type: mesos.SCALAR.Enum(), Role: &role,
				Scalar: &mesos.Value_Scalar{Value: float64(r[i]) / 1000}})
		}
	}
	return out
}

// String formats r as Mesos does.
func (r resources) String() string {
	of := func(i int) float64 { return float64(r[i]) / 1000 }
	return fmt.Sprintf("{cpus:%v; mem:%v; disk:%v}", of(cpus), of(mem), of(disk))
}
