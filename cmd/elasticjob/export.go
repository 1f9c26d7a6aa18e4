package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/elasticjob-go/elasticjob/client"
	"github.com/elasticjob-go/elasticjob/definitions"
)

func (a *cli) exportCommand() *cobra.Command {
	var folder string
	var apps []string
	cmd := &cobra.Command{Use: "export", Short: "Write all apps and jobs as YAML", Args: noArgs,
		Long: `Writes all apps and jobs that you may see as the YAML that apply reads, so that applying it changes nothing.
Fields with default values are left out. Secrets are written as ******: applied to the same server, they keep its secrets; for another
server, replace them by the secrets, or by fromFile or fromEnv.`,
		Example: "  elasticjob export > all.yaml\n  elasticjob export -d jobs/ --app billing"}
	cmd.Flags().StringVarP(&folder, "dir", "d", "",
		"write a file for each into this folder: apps/NAME.yaml and jobs/NAME.yaml")
	cmd.Flags().StringSliceVar(&apps, "app", nil, "only this app and its jobs; may be given several times")
	a.complete(cmd, "app", appNames)
	cmd.RunE = a.withServer(func(ctx context.Context, c *client.Client, _ []string) error {
		if err := a.onlyYAML(); err != nil {
			return err
		}
		state, err := definitions.Fetch(ctx, definitionServer{c})
		if err != nil {
			return err
		}
		all, err := ofApps(state.All, apps)
		if err != nil {
			return err
		}
		if folder != "" {
			return a.exportFiles(folder, all)
		}
		text, err := definitions.Encode(all)
		if err != nil {
			return err
		}
		return a.writeDefinitions(text)
	})
	return cmd
}

// onlyYAML rejects --output json for commands that only write YAML.
func (a *cli) onlyYAML() error {
	if a.output == "json" {
		return usagef("--output json: this command writes YAML, which apply reads")
	}
	return nil
}

// ofApps returns the apps with these names and their jobs, or everything if there are no names.
func ofApps(all []*definitions.Definition, apps []string) ([]*definitions.Definition, error) {
	if len(apps) == 0 {
		return all, nil
	}
	var selected []*definitions.Definition
	missing := slices.Clone(apps)
	for _, d := range all {
		if d.Kind == definitions.App {
			missing = slices.DeleteFunc(missing, func(name string) bool { return name == d.Name() })
		}
		if slices.Contains(apps, d.App.AppName+d.Job.AppName) { // one of the two names is empty
			selected = append(selected, d)
		}
	}
	if len(missing) > 0 {
		return nil, &exitError{statusNotFound,
			fmt.Errorf("there is no app %s; \"elasticjob app list\" lists all", strings.Join(missing, ", "))}
	}
	return selected, nil
}

// exportFiles writes a file for each definition. It notes the other files in the same folders, because they may define
// apps and jobs that the server does not have.
func (a *cli) exportFiles(folder string, all []*definitions.Definition) error {
	written := map[string]string{} // by lower-case path, because some file systems ignore case
	for _, d := range all {
		path := filepath.Join(folder, strings.ToLower(string(d.Kind))+"s", d.Name()+".yaml")
		if other, exists := written[strings.ToLower(path)]; exists {
			return fmt.Errorf("%s and %s would be the same file on some systems; export one of them by --app, or all to standard output", other, path)
		}
		written[strings.ToLower(path)] = path
		text, err := definitions.Encode([]*definitions.Definition{d})
		if err != nil {
			return err
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return fmt.Errorf("write %s: %w", path, err)
		}
		if err := os.WriteFile(path, text, 0o644); err != nil {
			return fmt.Errorf("write %s: %w", path, err)
		}
	}
	a.printf("%s written below %s", counted(len(all), "file"), folder)
	return a.noteOtherFiles(folder, written)
}

func (a *cli) noteOtherFiles(folder string, written map[string]string) error {
	for _, kind := range []string{"apps", "jobs"} {
		found, err := filepath.Glob(filepath.Join(folder, kind, "*.yaml"))
		if err != nil {
			return fmt.Errorf("look into %s: %w", folder, err)
		}
		for _, path := range found {
			if _, ok := written[strings.ToLower(path)]; !ok {
				a.note(path + " existed before and is not part of this export")
			}
		}
	}
	return nil
}

// writeDefinitions writes YAML to standard output. If that is a terminal, it replaces control characters.
func (a *cli) writeDefinitions(text []byte) error {
	w := a.out
	if _, ok := terminal(a.out); ok {
		w = cleanWriter{a.out}
	}
	if _, err := w.Write(text); err != nil {
		return fmt.Errorf("write the definitions: %w", err)
	}
	return nil
}
