CREATE TABLE invoices (
    id integer NOT NULL PRIMARY KEY,
    customer text NOT NULL,
    amount integer NOT NULL, -- whole dollars
    paid boolean DEFAULT false NOT NULL
);
