package properties_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/elasticjob-go/elasticjob/internal/properties"
)

func TestPropertiesAreReadAsJavaDoes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]properties.Property{
		"":                                    nil,
		"# a comment\\\n! another\n\n \t\f\n": nil,
		"a=1":                                 {{"a", "1", 1}},
		"a=1\r\nb:2\rc 3":                     {{"a", "1", 1}, {"b", "2", 2}, {"c", "3", 3}},
		"  a  =  1 ":                          {{"a", "1 ", 1}},
		"a":                                   {{"a", "", 1}},
		"a=":                                  {{"a", "", 1}},
		"a = = 1":                             {{"a", "= 1", 1}},
		"a : b=c":                             {{"a", "b=c", 1}},
		"zk=h1:2181,\\\n   h2:2181\nb=1":      {{"zk", "h1:2181,h2:2181", 1}, {"b", "1", 3}},
		"a=1\\\\\nb=2":                        {{"a", `1\`, 1}, {"b", "2", 2}},
		"a=1\\":                               {{"a", "1", 1}},
		"a=x\\\n# no comment":                 {{"a", "x# no comment", 1}},
		`k\=e\:y\ =v`:                         {{"k=e:y ", "v", 1}},
		`a=\t\n\r\f\q\\`:                      {{"a", "\t\n\r\fq\\", 1}},
		`a=\u0041\u00e4`:                      {{"a", "Aä", 1}},
		"a=\xe4":                              {{"a", "ä", 1}},
	} {
		got, err := properties.Parse(properties.Latin1([]byte(text)))
		if err != nil {
			t.Errorf("%q: %v", text, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q: (- want, + got)\n%s", text, diff)
		}
	}
	for _, text := range []string{"\n\na=\\u00g0", `a=\u12`, `\u=1`} {
		if _, err := properties.Parse(properties.Latin1([]byte(text))); err == nil ||
			!strings.Contains(err.Error(), "line ") {
			t.Errorf("%q: %v", text, err)
		}
	}
}
