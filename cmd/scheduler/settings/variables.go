package settings

import (
	"strings"

	"github.com/spf13/pflag"
)

// EnvPrefix is what the names of the server's own environment variables begin with.
const EnvPrefix = "ELASTICJOB_"

// Environment is os.Environ as a map.
func Environment(pairs []string) map[string]string {
	env := make(map[string]string, len(pairs))
	for _, pair := range pairs {
		name, value, _ := strings.Cut(pair, "=")
		env[name] = value
	}
	return env
}

// Variables are our environment variables, by the flags that they set.
func Variables(flags *pflag.FlagSet) map[string]string {
	out := map[string]string{}
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Name != "help" && f.Name != "version" { // they ask for something; and images often say their version so
			out[f.Name] = EnvPrefix + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))
		}
	})
	return out
}
