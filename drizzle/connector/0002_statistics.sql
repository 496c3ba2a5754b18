CREATE TABLE "connector"."statistics" (
	"step" bigint NOT NULL,
	"slot" bigint NOT NULL,
	"series" text NOT NULL,
	"value" double precision NOT NULL,
	CONSTRAINT "statistics_pkey" PRIMARY KEY("step","slot","series")
);
