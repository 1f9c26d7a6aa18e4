package master

import (
	"fmt"
	"math"

	mesos "github.com/mesos/mesos-go/api/v1/lib"
)

// resourceNames are the kinds of resources that local agents have.
var resourceNames = [...]string{"cpus", "mem", "disk"}

const cpus, mem, disk = 0, 1, 2

// resources are amounts in thousandths, Mesos' own precision, in the order of resourceNames. They are always
// unreserved and unshared.
type resources [len(resourceNames)]int64

func milli(v float64) int64 { return int64(math.Round(v * 1000)) }

// parse sums resources in protobuf form. fault, in Mesos' wording, names the first one that no agent here offers.
func parse(sent []mesos.Resource) (sum resources, fault string) {
	for i := range sent {
		r := &sent[i]
		value := r.GetScalar().GetValue()
		problem := "it is not offered"
		for at, name := range resourceNames {
			switch {
			case r.Name != name || r.GetType() != mesos.SCALAR || r.Revocable != nil || r.Shared != nil ||
				r.Disk != nil,
				r.GetRole() != "" && r.GetRole() != "*", r.Reservation != nil, len(r.Reservations) > 0:
			// A double represents thousandths exactly only up to this limit.
			case math.IsNaN(value) || value > 1e12 || milli(value) <= 0:
				problem = "Invalid scalar resource: value <= 0, or too large"
			default:
				problem = ""
				sum[at] += milli(value)
			}
		}
		if problem != "" {
			return sum, fmt.Sprintf("Resource '%s:%v' is invalid: %s", r.Name, value, problem)
		}
	}
	return sum, ""
}

// amount sums resources that are known to be valid: they were launched, or belong to an agent.
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
