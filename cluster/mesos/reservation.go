package mesos

import (
	"bytes"
	"encoding/json"
	"fmt"

	mesos "github.com/mesos/mesos-go/api/v1/lib"

	"github.com/elasticjob-go/elasticjob/cluster"
	"github.com/elasticjob-go/elasticjob/internal/resources"
)

// reservation is what distinguishes the reserved resources of one agent, in the form in which Mesos sends them to a
// framework without the capability RESERVATION_REFINEMENT: a static one has a role only, a dynamic one in
// Resource.reservation whatever its maker gave it. As JSON it is the key of cluster.Reserved. Keys are kept with
// executors and become a part of their ExecutorInfo, so this form is frozen like that (rule X4). Principal and Labels
// are pointers since Mesos distinguishes a field that is empty from one that isn't there.
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

// reservationKey is the key of a resource's reservation, or "" for an unreserved resource.
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

// apply makes r a resource of the reservation.
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

// parseReservation reads a key.
func parseReservation(key string) (*reservation, error) {
	var out reservation
	decoder := json.NewDecoder(bytes.NewReader([]byte(key)))
	decoder.DisallowUnknownFields() // a part that is not understood would be left out of what is sent
	if err := decoder.Decode(&out); err != nil || out.Role == "" {
		return nil, fmt.Errorf("its resources are of the reservation %q, which this release can't read; use the release that wrote it, or end the executor", key)
	}
	return &out, nil
}

// reservations are those of one call, by key: each is read once, not for each task.
type reservations map[string]*reservation

func (all *reservations) read(key string) (*reservation, error) {
	if r := (*all)[key]; r != nil {
		return r, nil
	}
	r, err := parseReservation(key)
	if err != nil {
		return nil, err
	}
	if *all == nil {
		*all = reservations{}
	}
	(*all)[key] = r
	return r, nil
}

// addReserved adds an amount of a reservation to those of an offer, which have few.
func addReserved(all []cluster.Reserved, key string, amount resources.Amount) []cluster.Reserved {
	for i := range all {
		if all[i].Key == key {
			all[i].Resources = all[i].Resources.Plus(amount)
			return all
		}
	}
	return append(all, cluster.Reserved{Key: key, Resources: amount})
}

// resourcesOf writes total down, of which reserved is a part: what is reserved first, in its order, then the
// unreserved rest. Amounts of zero are left out, since Mesos calls them invalid. Without reservations it is scalars.
func (all *reservations) resourcesOf(total resources.Amount, reserved []cluster.Reserved) ([]mesos.Resource, error) {
	if len(reserved) == 0 {
		return scalars(total), nil
	}
	out := make([]mesos.Resource, 0, 2*len(reserved)+2)
	rest := total
	for _, part := range reserved {
		of, err := all.read(part.Key)
		if err != nil {
			return nil, err
		}
		amounts := scalars(part.Resources)
		for i := range amounts {
			of.apply(&amounts[i])
		}
		out = append(out, amounts...)
		rest = rest.Minus(part.Resources)
		if part.Resources.CPUMilli < 0 || part.Resources.MemMilli < 0 || rest.CPUMilli < 0 || rest.MemMilli < 0 {
			return nil, fmt.Errorf("its reserved part %+v is not within its resources %+v; this is an error of the scheduler, please report it", reserved, total)
		}
	}
	return append(out, scalars(rest)...), nil
}
