// Package resources does arithmetic on CPU and memory with the exact precision of Mesos. Apps, jobs, offers and the
// cluster share its type. It imports no other package of this repository.
package resources

import (
	"fmt"
	"math"
	"strconv"
)

// Amount is an amount of CPU and memory in thousandths of a CPU and of a megabyte. Mesos rounds every scalar to three
// decimals, so sums of these integers agree exactly with the master's.
type Amount struct {
	CPUMilli int64 `json:"cpuMilli"`
	MemMilli int64 `json:"memMilli"`
}

// New rounds cpus and megabytes to the nearest thousandth.
func New(cpus, memoryMB float64) Amount {
	return Amount{CPUMilli: int64(math.Round(cpus * 1000)), MemMilli: int64(math.Round(memoryMB * 1000))}
}

// Plus returns the sum of r and o.
func (r Amount) Plus(o Amount) Amount {
	return Amount{CPUMilli: r.CPUMilli + o.CPUMilli, MemMilli: r.MemMilli + o.MemMilli}
}

// Minus returns r minus o; a part may become negative.
func (r Amount) Minus(o Amount) Amount {
	return Amount{CPUMilli: r.CPUMilli - o.CPUMilli, MemMilli: r.MemMilli - o.MemMilli}
}

// Max returns the larger value of each part.
func (r Amount) Max(o Amount) Amount {
	return Amount{CPUMilli: max(r.CPUMilli, o.CPUMilli), MemMilli: max(r.MemMilli, o.MemMilli)}
}

// Times returns n times r.
func (r Amount) Times(n int) Amount {
	return Amount{CPUMilli: r.CPUMilli * int64(n), MemMilli: r.MemMilli * int64(n)}
}

// Fits reports whether r is within free in every part.
func (r Amount) Fits(free Amount) bool {
	return r.CPUMilli <= free.CPUMilli && r.MemMilli <= free.MemMilli
}

// Holds returns how many times o fits into r, at most limit. It returns 0 if a part of r is negative, even if that
// part of o is zero.
func (r Amount) Holds(o Amount, limit int) int {
	if !o.Fits(r) {
		return 0
	}
	n := int64(limit)
	if o.CPUMilli > 0 {
		n = min(n, r.CPUMilli/o.CPUMilli)
	}
	if o.MemMilli > 0 {
		n = min(n, r.MemMilli/o.MemMilli)
	}
	return int(n)
}

// IsZero reports whether both parts are zero.
func (r Amount) IsZero() bool { return r == Amount{} }

// CPUs returns the amount of CPU in CPUs.
func (r Amount) CPUs() float64 { return float64(r.CPUMilli) / 1000 }

// MemoryMB returns the amount of memory in megabytes.
func (r Amount) MemoryMB() float64 { return float64(r.MemMilli) / 1000 }

// String returns a text such as "0.1 CPU, 64 MB".
func (r Amount) String() string {
	return fmt.Sprintf("%s CPU, %s MB", Decimal(r.CPUMilli), Decimal(r.MemMilli))
}

// Decimal formats thousandths as a decimal number without trailing zeros.
func Decimal(milli int64) string {
	return strconv.FormatFloat(float64(milli)/1000, 'f', -1, 64)
}
