select p.account_id as "accountId" from connector.poll_states p
      where p.account_id = any($1::text[]) and p.due_at <= $2::bigint
        and not EXISTS (SELECT held.owner FROM connector.leases held JOIN connector.processes living ON living.id = held.owner
    WHERE held.name = 'poll:' || p.account_id)
      order by p.due_at limit $3::integer
