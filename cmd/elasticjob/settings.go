package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/elasticjob-go/elasticjob/internal/spelling"
	"github.com/elasticjob-go/elasticjob/internal/wholefile"
)

// settings is the content of the file of contexts. Current is the name of the context in use, if any.
type settings struct {
	Current  string                      `yaml:"current,omitempty"`
	Contexts map[string]*contextSettings `yaml:"contexts,omitempty"`
}

// contextSettings is one context: a server, and the token to send to it.
type contextSettings struct {
	Server string `yaml:"server"`
	Token  string `yaml:"token,omitempty"`
	CA     string `yaml:"ca,omitempty"`
}

// settingsFile returns the path of the file of contexts. It is below $XDG_CONFIG_HOME, or else below the system's
// folder for the user's configuration.
func (a *cli) settingsFile() (string, error) {
	if dir := a.getenv("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "elasticjob", "contexts.yaml"), nil
	}
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", fmt.Errorf("find the folder for contexts: %w; set HOME or XDG_CONFIG_HOME", err)
	}
	return filepath.Join(dir, "elasticjob", "contexts.yaml"), nil
}

// readSettings reads the file of contexts. If it does not exist, there are no contexts. Because the file contains
// tokens, it is an error if other users can read it.
func (a *cli) readSettings() (*settings, error) {
	empty := &settings{Contexts: map[string]*contextSettings{}}
	path, err := a.settingsFile()
	if err != nil {
		return empty, nil // without a home folder there are no contexts; writing one reports the error
	}
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return empty, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the contexts: %w", err)
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err != nil {
		return nil, fmt.Errorf("read the contexts: %w", err)
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 && runtime.GOOS != "windows" {
		return nil, usagef("others can read %s (mode %04o), which holds tokens: chmod 600 %s", path, mode, path)
	}
	s := &settings{}
	decoder := yaml.NewDecoder(file)
	decoder.KnownFields(true)
	if err := decoder.Decode(s); err != nil && !errors.Is(err, io.EOF) { // an empty file has no contexts
		return nil, usagef("read the contexts: %s: %w", path, err)
	}
	if s.Contexts == nil {
		s.Contexts = empty.Contexts
	}
	for name, c := range s.Contexts {
		if c == nil || c.Server == "" {
			return nil, usagef("read the contexts: %s: context %s has no server", path, name)
		}
	}
	return s, nil
}

// updateSettings changes the contexts and replaces the file atomically, with mode 0600. After an error the file is
// unchanged.
func (a *cli) updateSettings(change func(*settings) error) error {
	s, err := a.readSettings()
	if err != nil {
		return err
	}
	if err := change(s); err != nil {
		return err
	}
	path, err := a.settingsFile()
	if err != nil {
		return err
	}
	var text bytes.Buffer
	encoder := yaml.NewEncoder(&text)
	encoder.SetIndent(2)
	if err := errors.Join(encoder.Encode(s), encoder.Close()); err != nil {
		return fmt.Errorf("write the contexts: %w", err)
	}
	if err = os.MkdirAll(filepath.Dir(path), 0o700); err == nil {
		err = wholefile.Write(path, text.Bytes(), 0o600)
	}
	if err != nil {
		return fmt.Errorf("write the contexts: %w", err)
	}
	return nil
}

// names returns the names of all contexts, sorted.
func (s *settings) names() []string { return slices.Sorted(maps.Keys(s.Contexts)) }

// unknown returns the error for a context that does not exist.
func (s *settings) unknown(name string) error {
	message := fmt.Sprintf("there is no context %q", name)
	if near := spelling.Nearest(name, s.names()); near != "" {
		message += fmt.Sprintf("; did you mean %s?", near)
	} else {
		message += `; "elasticjob context list" lists all, "elasticjob context set" makes one`
	}
	return usage(errors.New(message))
}

func (a *cli) contextNames() ([]string, error) {
	s, err := a.readSettings()
	if err != nil {
		return nil, err
	}
	return s.names(), nil
}
