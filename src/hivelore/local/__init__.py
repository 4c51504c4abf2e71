"""The installation on this machine: home folder, keys, lock, launcher and git projects. Standard library only."""
