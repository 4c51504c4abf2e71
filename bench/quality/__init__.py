"""Quality of answers: public queries with known answers, on stores filled with their texts."""
