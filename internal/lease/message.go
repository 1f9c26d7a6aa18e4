package lease

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
)

// Grant is what an executor needs for the lease of one task. The scheduler sends it with the task.
type Grant struct {
	// Seconds is the length of the lease.
	Seconds int `json:"seconds"`
	// Holder is who asks: an executor for all of its tasks, or a task that has its own executor. Key is the holder's
	// key, with which both sides sign their messages.
	Holder string `json:"holder"`
	Key    string `json:"key"`
	// URLs are the addresses at which the servers are asked, each without a path.
	URLs []string `json:"urls"`
}

// Path is the path of requests for leases.
const Path = "/lease"

// HolderHeader has the holder of a request, and SignatureHeader the signature of a body, for both directions.
const (
	HolderHeader    = "Lease-Holder"
	SignatureHeader = "Lease-Signature"
)

// MaxBody is the maximum size of a request and of an answer, enough for 5,000 tasks.
const MaxBody = 1 << 20

// Message is a request or an answer as it travels. Nothing in Body may be used before the signature was checked.
type Message struct {
	Holder    string `json:"holder"`
	Body      []byte `json:"body"`
	Signature string `json:"signature"`
}

// parcel is a Message that Mesos carries between an executor and the scheduler, where no server can be reached by HTTP.
type parcel struct {
	Lease *Message `json:"lease"`
}

// Pack returns a message as the data of a message of Mesos.
func (m Message) Pack() []byte {
	data, _ := json.Marshal(parcel{&m}) // strings and bytes can all be written
	return data
}

// Unpack returns the message in the data of a message of Mesos; false if there is none.
func Unpack(data []byte) (m Message, found bool) {
	var p parcel
	if json.Unmarshal(data, &p) != nil || p.Lease == nil {
		return Message{}, false
	}
	return *p.Lease, true
}

// Request asks for the leases of all exclusive tasks of a holder.
type Request struct {
	Holder string `json:"-"`
	// Start is a random number of the holder's process, and Number counts its requests from 1. A request whose Number
	// is not greater than an earlier one of the same Start renews nothing: it is a copy.
	Start  uint64 `json:"start"`
	Number uint64 `json:"number"`
	// Term is the highest term that the holder has heard of, 0 at first. A leader accepts an attempt again that was
	// given up, but only if the request names the leader's own term. A copy of a request to an earlier leader does not.
	Term int64 `json:"term"`
	// Tasks are the ids of the holder's exclusive tasks that have not ended.
	Tasks []string `json:"tasks"`
}

// Answer answers the Request with the same Start and Number.
type Answer struct {
	Start  uint64 `json:"start"`
	Number uint64 `json:"number"`
	// Term is the term of the leader that answers. An executor ignores the answer of a term before the highest one
	// that it has heard of.
	Term int64 `json:"term"`
	// Granted are the tasks that have a lease now, from the time at which the holder asked. Ended are the tasks that
	// must end, because they were given up or are to be killed. A task in neither list keeps the lease that it has.
	Granted []string `json:"granted,omitempty"`
	Ended   []string `json:"ended,omitempty"`
}

// Key derives a holder's key from the scheduler's secret.
func Key(secret []byte, holder string) string {
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(holder))
	return hex.EncodeToString(mac.Sum(nil))
}

// direction tells the signatures of requests from those of answers, so that neither can be used as the other.
type direction string

const (
	request direction = "request\n"
	answer  direction = "answer\n"
)

func sign(d direction, key string, body []byte) string {
	mac := hmac.New(sha256.New, []byte(key))
	mac.Write([]byte(d))
	mac.Write(body)
	return hex.EncodeToString(mac.Sum(nil))
}

// ErrSignature means that a message was not signed with the key of its holder.
var ErrSignature = errors.New("the signature is wrong")

// open checks the signature of a message, and decodes its body.
func (m Message) open(d direction, key string, into any) error {
	if subtle.ConstantTimeCompare([]byte(sign(d, key, m.Body)), []byte(m.Signature)) != 1 {
		return ErrSignature
	}
	if err := json.Unmarshal(m.Body, into); err != nil {
		return fmt.Errorf("read a message about leases: %w", err)
	}
	return nil
}

func seal(d direction, holder, key string, of any) Message {
	body, _ := json.Marshal(of) // strings and numbers can all be written
	return Message{Holder: holder, Body: body, Signature: sign(d, key, body)}
}

// Seal returns the request as a message that is signed with the holder's key.
func (r Request) Seal(key string) Message { return seal(request, r.Holder, key, r) }

// OpenRequest returns the request in a message. The error is ErrSignature if it was not signed with the holder's key.
func (m Message) OpenRequest(key string) (Request, error) {
	r := Request{Holder: m.Holder}
	if err := m.open(request, key, &r); err != nil {
		return Request{}, err
	}
	return r, nil
}

// Seal returns the answer to a holder as a message that is signed with the holder's key.
func (a Answer) Seal(holder, key string) Message { return seal(answer, holder, key, a) }

// OpenAnswer returns the answer in a message. The error is ErrSignature if it was not signed with the holder's key.
func (m Message) OpenAnswer(key string) (Answer, error) {
	var a Answer
	if err := m.open(answer, key, &a); err != nil {
		return Answer{}, err
	}
	return a, nil
}
