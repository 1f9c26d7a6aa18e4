package lease

import (
	"errors"
	"reflect"
	"testing"
)

// TestMessages checks that a message is read only with the key of its holder, and in its own direction.
func TestMessages(t *testing.T) {
	t.Parallel()
	secret := []byte("secret")
	key := Key(secret, "x")
	r := Request{Holder: "x", Start: 1, Number: 2, Term: 3, Tasks: []string{"t"}}
	a := Answer{Start: 1, Number: 2, Term: 3, Granted: []string{"t"}, Ended: []string{"u"}}
	if got, err := r.Seal(key).OpenRequest(key); err != nil || !reflect.DeepEqual(got, r) {
		t.Errorf("request: %+v, %v", got, err)
	}
	if got, err := a.Seal("x", key).OpenAnswer(key); err != nil || !reflect.DeepEqual(got, a) {
		t.Errorf("answer: %+v, %v", got, err)
	}
	changed := r.Seal(key)
	changed.Body = append(changed.Body, ' ')
	for name, err := range map[string]error{
		"of another holder":      second(r.Seal(key).OpenRequest(Key(secret, "y"))),
		"of another scheduler":   second(r.Seal(key).OpenRequest(Key([]byte("other"), "x"))),
		"changed":                second(changed.OpenRequest(key)),
		"without a signature":    second(Message{Holder: "x", Body: r.Seal(key).Body}.OpenRequest(key)),
		"an answer as a request": second(a.Seal("x", key).OpenRequest(key)),
		"a request as an answer": second(r.Seal(key).OpenAnswer(key)),
		"an answer with no body": second(Message{}.OpenAnswer(key)),
		"an answer for another":  second(a.Seal("y", Key(secret, "y")).OpenAnswer(key)),
	} {
		if !errors.Is(err, ErrSignature) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := second(seal(request, "x", key, "no object").OpenRequest(key)); err == nil || errors.Is(err, ErrSignature) {
		t.Errorf("signed, but no request: %v", err)
	}
}

func second[T any](_ T, err error) error { return err }
