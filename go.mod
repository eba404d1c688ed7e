module forklift

go 1.26.0
