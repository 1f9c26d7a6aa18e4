package mesos

import (
	"bytes"
	"encoding/json"
	"fmt"

	mesos "github.com/mesos/mesos-go/api/v1/lib"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/internal/resources"
)

// reservation identifies a reservation on an agent, as Mesos describes it to a framework without the capability
// RESERVATION_REFINEMENT. A static reservation has only a role; a dynamic reservation may also have the principal and
// the labels of its creator. The JSON form of a reservation is the key of cluster.Reserved. Keys are stored with
// executors and become part of their ExecutorInfo, so the JSON form must never change (rule X4). Principal and Labels
// are pointers because Mesos distinguishes an empty field from a missing one.
type reservation struct {
	Role      string   `json:"role"`
	Dynamic   bool     `json:"dynamic,omitempty"`
	Principal *string  `json:"principal,omitempty"`
	Labels    *[]label `json:"labels,omitempty"`
}

type label struct {
	Key   string  `json:"key"`
	Value *string `json:"value,omitempty"`
}

// reservationKey returns the key of a resource's reservation, or "" for an unreserved resource.
func reservationKey(r *mesos.Resource) (string, error) {
	role := "*"
	if r.Role != nil {
		role = *r.Role
	}
	if role == "*" && r.Reservation == nil {
		return "", nil
	}
	key := reservation{Role: role, Dynamic: r.Reservation != nil}
	if info := r.Reservation; info != nil {
		key.Principal = info.Principal
		if info.Labels != nil {
			labels := make([]label, len(info.Labels.Labels))
			for i, l := range info.Labels.Labels {
				labels[i] = label{l.Key, l.Value}
			}
			key.Labels = &labels
		}
	}
	text, err := json.Marshal(key)
	return string(text), err
}

// apply marks r as reserved by this reservation.
func (k *reservation) apply(r *mesos.Resource) {
	r.Role = &k.Role
	if !k.Dynamic {
		return
	}
	r.Reservation = &mesos.Resource_ReservationInfo{Principal: k.Principal}
	if k.Labels != nil {
		labels := make([]mesos.Label, len(*k.Labels))
		for i, l := range *k.Labels {
			labels[i] = mesos.Label{Key: l.Key, Value: l.Value}
		}
		r.Reservation.Labels = &mesos.Labels{Labels: labels}
	}
}

// parseReservation parses a key.
func parseReservation(key string) (*reservation, error) {
	var out reservation
	decoder := json.NewDecoder(bytes.NewReader([]byte(key)))
	decoder.DisallowUnknownFields() // the resources sent to Mesos would lack an unknown field
	if err := decoder.Decode(&out); err != nil || out.Role == "" {
		return nil, fmt.Errorf("its resources are of the reservation %q, which this release can't read; use the release that wrote it, or end the executor", key)
	}
	return &out, nil
}

// addReserved adds an amount to the entry of its reservation. Offers have few reservations, so a linear search is
// enough.
func addReserved(all []cluster.Reserved, key string, amount resources.Amount) []cluster.Reserved {
	for i := range all {
		if all[i].Key == key {
			all[i].Resources = all[i].Resources.Plus(amount)
			return all
		}
	}
	return append(all, cluster.Reserved{Key: key, Resources: amount})
}

// reservations caches the reservations of one call by their keys, so that each key is parsed once, however many tasks
// use it.
type reservations map[string]*reservation

// parse returns the reservation with this key.
func (cache reservations) parse(key string) (*reservation, error) {
	if r := cache[key]; r != nil {
		return r, nil
	}
	r, err := parseReservation(key)
	if err == nil {
		cache[key] = r
	}
	return r, err
}

// resourcesOf encodes total: first the reserved part, in the given order, then the unreserved rest. It omits zero
// amounts, which Mesos rejects as invalid. It returns an error if a key can't be parsed, an amount is negative, or the
// reserved part exceeds total.
func (cache reservations) resourcesOf(total resources.Amount, reserved []cluster.Reserved) ([]mesos.Resource, error) {
	if len(reserved) == 0 {
		return scalars(total), nil
	}
	out := make([]mesos.Resource, 0, 2*len(reserved)+2)
	rest := total
	for _, part := range reserved {
		reservation, err := cache.parse(part.Key)
		if err != nil {
			return nil, err
		}
		amounts := scalars(part.Resources)
		for i := range amounts {
			reservation.apply(&amounts[i])
		}
		out = append(out, amounts...)
		rest = rest.Minus(part.Resources)
		if part.Resources.CPUMilli < 0 || part.Resources.MemMilli < 0 || rest.CPUMilli < 0 || rest.MemMilli < 0 {
			return nil, fmt.Errorf("its reserved part %+v is not within its resources %+v; this is an error of the scheduler, please report it", reserved, total)
		}
	}
	return append(out, scalars(rest)...), nil
}
