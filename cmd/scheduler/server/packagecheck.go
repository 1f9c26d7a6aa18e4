package server

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/elasticjob-go/elasticjob/api/apps"
	"github.com/elasticjob-go/elasticjob/app"
	"github.com/elasticjob-go/elasticjob/cmd/scheduler/server/guard"
	"github.com/elasticjob-go/elasticjob/cmd/scheduler/settings"
	"github.com/elasticjob-go/elasticjob/executor"
	"github.com/elasticjob-go/elasticjob/executor/isolation"
	"github.com/elasticjob-go/elasticjob/executor/pack"
	"github.com/elasticjob-go/elasticjob/internal/document"
)

// packages checks apps' packages for the API. It fetches a package as executors do, into a folder below the data
// folder.
type packages struct {
	folder string
	local  bool // jobs run on this machine
	// runAs is the user of the jobs, or nil for the server's own user. hide has the files that jobs must not see. Both
	// are nil if local is false.
	runAs *isolation.Account
	hide  *isolation.Places
}

// newPackages creates the folder for package checks. It first removes files of a server that was killed.
func newPackages(c *settings.Config, held guard.Files) (*packages, error) {
	dataDir, err := filepath.Abs(c.DataDir)
	if err != nil {
		return nil, fmt.Errorf("create the folder for package checks: %w", err)
	}
	p := &packages{folder: filepath.Join(dataDir, "checks"), local: c.Local.On}
	if err := pack.RemoveTree(p.folder); err != nil {
		return nil, fmt.Errorf("empty the folder for package checks: %w", err)
	}
	if err := os.MkdirAll(p.folder, 0o700); err != nil {
		return nil, fmt.Errorf("create the folder for package checks: %w", err)
	}
	if c.Local.On {
		if p.runAs, err = isolation.AccountFor(c.Jobs.RunAs, os.Geteuid()); err != nil {
			return nil, err
		}
		places := held.HiddenWith(isolation.Places{Folder: dataDir})
		p.hide = &places
	}
	return p, nil
}

// CheckPackage implements apps.Packages.
func (p *packages) CheckPackage(ctx context.Context, c app.Config) (apps.PackageFacts, error) {
	command, err := app.SplitCommand(c.BootstrapScript)
	if err != nil {
		return apps.PackageFacts{}, fmt.Errorf("split the bootstrapScript, which was checked: %w", err)
	}
	found, err := executor.CheckPackage(ctx, executor.PackageCheck{
		URL: c.AppURL, SHA256: c.AppSHA256, Command: command, Folder: p.folder, OfAgent: p.local, RunAs: p.runAs,
		Hide: p.hide,
	})
	if err != nil {
		return apps.PackageFacts{}, fmt.Errorf("check the package of app %s: %w", c.AppName, err)
	}
	facts := apps.PackageFacts{Size: found.Size, SHA256: found.SHA256, Format: found.Format, FilesTotal: found.Total,
		Script: apps.PackageScript(found.Script)}
	for _, f := range found.Files {
		facts.Files = append(facts.Files, apps.PackageFile(f))
	}
	values := map[string]string{"appURL": c.AppURL, "appSHA256": c.AppSHA256, "bootstrapScript": c.BootstrapScript}
	for _, problem := range found.Problems {
		facts.Problems = append(facts.Problems,
			document.Violate(problem.Field, values[problem.Field], "%s", problem.Message))
	}
	return facts, nil
}
