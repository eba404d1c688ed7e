package storage

import "context"

type Usage struct{ OwnBytes, SharedBytes int64 }

func (s *Store) Usage(ctx context.Context, pairs []*Pair) (map[PairID]Usage, error) { return nil, nil }

type CheckReport struct{ Problems []string }

func (s *Store) Check(ctx context.Context, readData bool) (CheckReport, error) {
	return CheckReport{}, nil
}
