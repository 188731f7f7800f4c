"""What leaves perfield: series of pictures for ParaView (.pvd) and images."""
