"""Small chats on other people's frameworks, the model they ask and the load they get, for benchmarks/peers.py."""
