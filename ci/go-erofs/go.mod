module msb/ci/go-erofs

go 1.24

require github.com/erofs/go-erofs v0.3.1
