package sim

import (
	"encoding/json"
	"reflect"
	"testing"
)

func TestShardReaderAgreesWithEncodingJSON(t *testing.T) {
	t.Parallel()
	r := shardReader{}
	for _, text := range []string{
		`[]`,
		`[{"i":0,"s":"RUNNING"},{"i":1,"ca":"a \"quoted\\\" , ] } text"}]`,
		`[{"i":0,"s":"FINISHED"},{"i":1,"ca":"a \"quoted\\\" , ] } text"}]`,
		`[{"i":0,"s":"FINISHED"}]`,
		`[{"i":0,"s":"FINISHED"},{"i":1},{"i":2,"other":{"of":[1,2,{"a":"b"}]}}]`,
		`[{"i":0,"s":"FINISHED"},]`, `[{"i":0]`, `[{"i":"x"}]`, `{"i":0}`, `[`, ``, `[{"i":0}}]`,
	} {
		var want []shardRecord
		wantErr := json.Unmarshal([]byte(text), &want)
		got, err := r.read("path", []byte(text))
		if (err != nil) != (wantErr != nil) || err == nil && len(got)+len(want) > 0 && !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v, want %+v, %v", text, got, err, want, wantErr)
		}
	}
}
