// Command serve serves a folder over HTTP on the loopback interface, so that the apps' packages in it can be fetched:
//
//	CGO_ENABLED=0 go run ./examples/serve examples
//	CGO_ENABLED=0 go run ./examples/serve -listen 127.0.0.1:9000 dist
package main

import (
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"time"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:8080", "address to listen on")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: serve [-listen 127.0.0.1:8080] FOLDER")
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() != 1 {
		flag.Usage()
		os.Exit(2)
	}
	if err := serve(*listen, flag.Arg(0)); err != nil {
		fmt.Fprintln(os.Stderr, "serve:", err)
		os.Exit(1)
	}
}

func serve(listen, folder string) error {
	if info, err := os.Stat(folder); err != nil || !info.IsDir() {
		return errors.Join(fmt.Errorf("%s is not a folder", folder), err)
	}
	files := http.FileServer(http.Dir(folder))
	server := &http.Server{
		Addr:              listen,
		ReadHeaderTimeout: 10 * time.Second,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			slog.Info("file served", "path", r.URL.Path, "by", r.RemoteAddr)
			files.ServeHTTP(w, r)
		}),
	}
	fmt.Printf("serving %s at http://%s/; Ctrl-C ends it\n", folder, listen)
	return server.ListenAndServe()
}
