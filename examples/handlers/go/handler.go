// A handler for Bartleby: checks the signature, answers done, retry or reject. Standard library only.
//
//	HOOK=whsec_… go run handler.go [port]
package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"math"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
)

func genuine(secret []byte, h http.Header, body []byte) bool {
	mac := hmac.New(sha256.New, secret)
	fmt.Fprintf(mac, "%s.%s.%s", h.Get("webhook-id"), h.Get("webhook-timestamp"), body)
	ours := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
	sent, err := strconv.ParseInt(h.Get("webhook-timestamp"), 10, 64)
	fresh := err == nil && math.Abs(float64(time.Now().Unix()-sent)) < 300
	return fresh && hmac.Equal([]byte(ours), []byte(h.Get("webhook-signature")))
}

func main() {
	secret, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(os.Getenv("HOOK"), "whsec_"))
	if err != nil || len(secret) == 0 {
		log.Fatal("HOOK: not whsec_ and base64")
	}
	port := append(os.Args[1:], "0")[0]
	listener, err := net.Listen("tcp", "127.0.0.1:"+port)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(listener.Addr().(*net.TCPAddr).Port)
	log.Fatal(http.Serve(listener, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var order struct {
			Amount *float64
			Bank   string
		}
		switch {
		case err != nil || !genuine(secret, r.Header, body):
			http.Error(w, "not signed by us", 401)
		case json.Unmarshal(body, &order) != nil || order.Amount == nil:
			http.Error(w, "an order needs an amount", 422) // reject: straight to the dead letters
		case order.Bank == "down":
			http.Error(w, "the bank does not answer", 503) // tried again later
		default:
			// The same key on every attempt: what was paid under it is not paid twice.
			log.Print("paid ", *order.Amount, " ", r.Header.Get("Idempotency-Key"))
		}
	})))
}
