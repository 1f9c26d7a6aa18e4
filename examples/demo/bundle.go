package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"
)

// bundle is a package that is served over HTTP.
type bundle struct {
	url         string
	files, size int
	server      *http.Server
}

func (b *bundle) close() { _ = b.server.Close() }

// serveBundle packs a folder and serves the package on the loopback interface.
func serveBundle(folder string) (*bundle, error) {
	packed, files, err := pack(folder)
	if err != nil {
		return nil, fmt.Errorf("pack %s: %w", folder, err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("serve the package: %w", err)
	}
	name := filepath.Base(folder) + ".tar.gz"
	b := &bundle{
		url:    fmt.Sprintf("http://%s/%s", l.Addr(), name),
		files:  files,
		size:   len(packed),
		server: &http.Server{ReadHeaderTimeout: 10 * time.Second},
	}
	b.server.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(packed))
	})
	go func() { _ = b.server.Serve(l) }() // ends with close
	return b, nil
}

// pack creates a tar.gz of the files in a folder.
func pack(folder string) (packed []byte, files int, err error) {
	var buffer bytes.Buffer
	zip := gzip.NewWriter(&buffer)
	archive := tar.NewWriter(zip)
	err = filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		header, err := tar.FileInfoHeader(info, "")
		if err != nil {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if header.Name, err = filepath.Rel(folder, path); err != nil {
			return err
		}
		header.Size = int64(len(content))
		files++
		if err := archive.WriteHeader(header); err != nil {
			return err
		}
		_, err = archive.Write(content)
		return err
	})
	if err == nil {
		err = archive.Close()
	}
	if err == nil {
		err = zip.Close()
	}
	return buffer.Bytes(), files, err
}
