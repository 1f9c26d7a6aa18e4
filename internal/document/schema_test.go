package document_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/internal/document"
)

func TestMustSchemaRefusesMistakes(t *testing.T) {
	t.Parallel()
	type wrongType struct {
		Name string `json:"name"`
		List []int  `json:"list"`
	}
	type wrongDefault struct {
		Name  string `json:"name"`
		Count int    `json:"count" default:"1.5"`
	}
	tests := map[string]func(){
		"a type that no document can hold": func() { document.MustSchema[wrongType]("name", nil) },
		"a default of another type":        func() { document.MustSchema[wrongDefault]("name", nil) },
		"no identity":                      func() { document.MustSchema[app.Config]("nam", nil) },
	}
	for name, build := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			defer func() {
				if recover() == nil {
					t.Error("accepted")
				}
			}()
			build()
		})
	}
}

func TestSchemaFields(t *testing.T) {
	t.Parallel()
	type counted struct {
		Name  string         `json:"name"`
		Count int            `json:"count,omitempty" default:"3"`
		Map   document.Texts `json:"map"`
	}
	s := document.MustSchema[counted]("name", nil)
	if diff := cmp.Diff([]string{"name", "count", "map"}, s.Fields()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(counted{Count: 3}, s.Default()); diff != "" {
		t.Error(diff)
	}
}
