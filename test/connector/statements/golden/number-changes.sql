SELECT numbered, last_seq FROM connector.number_changes($1)
