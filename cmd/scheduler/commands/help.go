package commands

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// helpWidth is the width at which --help wraps the lines about flags.
const helpWidth = 120

// showGroups makes --help of a command show its flags in groups, wrapped at helpWidth. The last group also gets --help
// and --version. Subcommands inherit the template, and show their flags in one list.
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
	// flagList is the part of cobra's template that lists the flags.
	const flagList = "{{if .HasAvailableLocalFlags}}\n\nFlags:\n{{.LocalFlags.FlagUsages | trimTrailingWhitespaces}}{{end}}"
	wrappedList := strings.Replace(flagList, "FlagUsages", fmt.Sprintf("FlagUsagesWrapped %d", helpWidth), 1)
	cmd.SetUsageTemplate(strings.Replace(cmd.UsageTemplate(), flagList,
		"{{if .HasParent}}"+wrappedList+"{{else}}"+text.String()+"{{end}}", 1))
}
