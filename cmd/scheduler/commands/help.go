package commands

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// helpWidth is the width at which --help wraps the lines about flags.
const helpWidth = 120

// showGroups makes --help of a command show its flags in groups. Subcommands still show their flags in one list.
func showGroups(cmd *cobra.Command, groups []*pflag.FlagSet) {
	cmd.InitDefaultHelpFlag()
	cmd.InitDefaultVersionFlag()
	other := groups[len(groups)-1]
	other.AddFlag(cmd.Flags().Lookup("help"))
	other.AddFlag(cmd.Flags().Lookup("version"))
	var text strings.Builder
	for _, g := range groups {
		fmt.Fprintf(&text, "\n\n%s:\n%s", g.Name(), strings.TrimRight(g.FlagUsagesWrapped(helpWidth), "\n"))
	}
	const flags = "{{if .HasAvailableLocalFlags}}\n\nFlags:\n{{.LocalFlags.FlagUsages | trimTrailingWhitespaces}}{{end}}"
	cmd.SetUsageTemplate(strings.Replace(cmd.UsageTemplate(), flags,
		"{{if .HasParent}}"+strings.Replace(flags, "FlagUsages", fmt.Sprintf("FlagUsagesWrapped %d", helpWidth), 1)+
			"{{else}}"+text.String()+"{{end}}", 1))
}
