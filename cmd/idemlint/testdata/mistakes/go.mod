module example.com/shop

go 1.26

require github.com/idemddb/go-idemddb v0.1.0
