package fetch

import (
	"bufio"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
)

// acceptEncoding is what decode undoes.
const acceptEncoding = "gzip, deflate, br, zstd"

// maxZstdWindow is the window that every decoder of zstd as a content coding
// has to have, and no encoder may go beyond (RFC 9659).
const maxZstdWindow = 8 << 20

// decode undoes the content coding that header names (RFC 9110 8.4.1). done
// frees what the decoder holds.
func decode(r *bufio.Reader, header http.Header) (decoded io.Reader, done func(), err error) {
	done = func() {}
	switch encoding := strings.ToLower(strings.Join(header.Values("Content-Encoding"), ", ")); encoding {
	case "", "identity":
		return r, done, nil
	case "gzip", "x-gzip":
		decoded, err = gzip.NewReader(r)
	case "deflate":
		decoded, err = inflate(r)
	case "br":
		decoded = brotli.NewReader(r)
	case "zstd":
		var z *zstd.Decoder
		z, err = zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxZstdWindow))
		if err == nil {
			decoded, done = z, z.Close
		}
	default:
		return nil, done, fmt.Errorf("body in an encoding that was not asked for: %.40q", encoding)
	}
	if err != nil {
		return nil, done, fmt.Errorf("body: %w", err)
	}
	return decoded, done, nil
}

// inflate reads "deflate", which is the zlib format (RFC 9110 8.4.1.2), and the
// bare deflate that some servers send under that name.
func inflate(r *bufio.Reader) (io.Reader, error) {
	head, err := r.Peek(2)
	if err == nil && head[0]&0x0f == 8 && (uint(head[0])<<8|uint(head[1]))%31 == 0 { // RFC 1950 2.2
		return zlib.NewReader(r)
	}
	return flate.NewReader(r), nil
}
