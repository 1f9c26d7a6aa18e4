package settings

import (
	"strings"

	"github.com/spf13/pflag"
)

// EnvPrefix is the prefix of the names of the server's environment variables.
const EnvPrefix = "ELASTICJOB_"

// Environment converts the result of os.Environ into a map.
func Environment(pairs []string) map[string]string {
	env := make(map[string]string, len(pairs))
	for _, pair := range pairs {
		name, value, _ := strings.Cut(pair, "=")
		env[name] = value
	}
	return env
}

// Variables returns the name of the environment variable for each flag.
func Variables(flags *pflag.FlagSet) map[string]string {
	out := map[string]string{}
	flags.VisitAll(func(f *pflag.Flag) {
		// help and version are no settings, and container images often set a variable VERSION.
		if f.Name != "help" && f.Name != "version" {
			out[f.Name] = EnvPrefix + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))
		}
	})
	return out
}
