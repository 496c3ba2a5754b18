// A receiver with Go's standard library. It verifies the raw bytes and stores them, and only then answers.
package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"time"
)

var secret = []byte(os.Getenv("SIGNING_SECRET"))
var timestampForm, signatureForm = regexp.MustCompile(`^[0-9]{13}$`), regexp.MustCompile(`^sha256=[0-9a-fA-F]{64}$`)

func receive(inbox *os.File, r *http.Request) int {
	// Exactly one value of each header, checked before the body is read. Hex is checked before it is decoded.
	timestamps, signatures := r.Header["X-Service-Timestamp"], r.Header["X-Service-Signature"]
	if r.Method != "POST" || len(timestamps) != 1 || len(signatures) != 1 ||
		!timestampForm.MatchString(timestamps[0]) || !signatureForm.MatchString(signatures[0]) {
		return 401
	}
	body, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, 1<<20))
	if err != nil {
		return 413
	}
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(timestamps[0] + "." + string(body)))
	claimed, _ := hex.DecodeString(signatures[0][len("sha256="):])
	signedAt, _ := strconv.ParseInt(timestamps[0], 10, 64)
	if time.Since(time.UnixMilli(signedAt)).Abs() > 5*time.Minute || !hmac.Equal(mac.Sum(nil), claimed) {
		return 401
	}
	// One line for each delivery. It is on disk before the answer, because an answered event is not sent again.
	// The line feed before it ends a line that a full disk or a crash has cut off.
	// Another process reads the lines: it ignores events it does not know, and messages and statuses it has.
	_, err = inbox.WriteString("\n" + timestamps[0] + " " + base64.StdEncoding.EncodeToString(body) + "\n")
	if err != nil || inbox.Sync() != nil {
		return 500
	}
	return 200
}

func main() {
	inbox, failed := os.OpenFile(os.Getenv("INBOX"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	listener, taken := net.Listen("tcp", "127.0.0.1:"+os.Getenv("PORT"))
	if len(secret) == 0 || failed != nil || taken != nil {
		log.Fatal("set SIGNING_SECRET, INBOX (a file) and PORT: ", failed, taken)
	}
	http.HandleFunc("/webhooks", func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(receive(inbox, r)) })
	fmt.Printf("receiving at http://%s/webhooks\n", listener.Addr())
	log.Fatal((&http.Server{ReadTimeout: 15 * time.Second}).Serve(listener))
}
