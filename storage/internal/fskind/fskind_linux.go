package fskind

import "golang.org/x/sys/unix"

// kinds are the magic numbers of statfs(2) that are not Local. Those without
// a name in package unix are from the kernel's sources.
var kinds = map[uint32]Kind{
	unix.TMPFS_MAGIC:       Memory,
	unix.RAMFS_MAGIC:       Memory,
	unix.NFS_SUPER_MAGIC:   Network,
	unix.SMB_SUPER_MAGIC:   Network,
	unix.CIFS_SUPER_MAGIC:  Network,
	unix.SMB2_SUPER_MAGIC:  Network,
	unix.V9FS_MAGIC:        Network,
	unix.AFS_SUPER_MAGIC:   Network,
	unix.AFS_FS_MAGIC:      Network,
	unix.CODA_SUPER_MAGIC:  Network,
	unix.CEPH_SUPER_MAGIC:  Network,
	unix.OCFS2_SUPER_MAGIC: Network,
	0x0bd00bd0:             Network, // Lustre
	0x47504653:             Network, // GPFS
	0x01161970:             Network, // GFS2
	unix.FUSE_SUPER_MAGIC:  User,
}

func ofDescriptor(fd int) Kind {
	var st unix.Statfs_t
	if err := unix.Fstatfs(fd, &st); err != nil {
		return Local
	}
	return kinds[uint32(st.Type)]
}
